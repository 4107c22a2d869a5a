# verdict: wrong, diagnosis: out_of_order
import torch
import torch.distributed as dist


def print_in_turn(line):
    # rank 0 calls the others up one after the other, but does not wait until they have spoken
    token = torch.zeros(1)
    if dist.get_rank() == 0:
        print(line)
        for rank in range(1, dist.get_world_size()):
            dist.send(token, rank)
    else:
        dist.recv(token, 0)
        print(line)
