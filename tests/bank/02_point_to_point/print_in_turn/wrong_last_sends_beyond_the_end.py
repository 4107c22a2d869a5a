# verdict: raised, diagnosis: ValueError
import torch
import torch.distributed as dist


def print_in_turn(line):
    rank = dist.get_rank()
    token = torch.zeros(1)
    if rank > 0:
        dist.recv(token, rank - 1)
    print(line)
    dist.send(token, rank + 1)
