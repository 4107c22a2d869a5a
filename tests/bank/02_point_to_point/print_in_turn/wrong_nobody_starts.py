# verdict: hung, diagnosis: deadlock
import torch
import torch.distributed as dist


def print_in_turn(line):
    rank, p = dist.get_rank(), dist.get_world_size()
    token = torch.zeros(1)
    dist.recv(token, (rank - 1) % p)
    print(line)
    dist.send(token, (rank + 1) % p)
