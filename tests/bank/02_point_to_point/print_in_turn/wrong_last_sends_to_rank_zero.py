# verdict: hung, diagnosis: returned_early
import torch
import torch.distributed as dist


def print_in_turn(line):
    rank, p = dist.get_rank(), dist.get_world_size()
    token = torch.zeros(1)
    if rank > 0:
        dist.recv(token, rank - 1)
    print(line)
    dist.send(token, (rank + 1) % p)
