# verdict: passed
import torch
import torch.distributed as dist


def print_in_turn(line):
    rank = dist.get_rank()
    last = dist.get_world_size() - 1
    if rank:
        dist.recv(torch.empty(0), rank - 1)
    for character in line:
        print(character, end="")
    print()
    if rank < last:
        dist.send(torch.empty(0), rank + 1)
