# verdict: wrong, diagnosis: forgot_wait
import torch
import torch.distributed as dist


def print_in_turn(line):
    rank, world_size = dist.get_rank(), dist.get_world_size()
    token = torch.zeros(1)
    if rank > 0:
        dist.recv(token, rank - 1)
    print(line)
    if rank < world_size - 1:
        dist.isend(token, rank + 1)
