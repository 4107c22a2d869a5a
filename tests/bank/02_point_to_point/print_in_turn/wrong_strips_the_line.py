# verdict: wrong, diagnosis: wrong_text
import torch
import torch.distributed as dist


def print_in_turn(line):
    rank, p = dist.get_rank(), dist.get_world_size()
    token = torch.zeros(1)
    if rank > 0:
        dist.recv(token, src=rank - 1)
    print(line.strip())
    if rank < p - 1:
        dist.send(token, dst=rank + 1)
