# verdict: hung, diagnosis: returned_early
import torch
import torch.distributed as dist


def print_in_turn(line):
    token = torch.zeros(1)
    if dist.get_rank() == 0:
        print(line)
        dist.send(token, 1)
    else:
        dist.recv(token, 0)
        print(line)
