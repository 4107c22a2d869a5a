# verdict: passed
import torch
import torch.distributed as dist

import sys


def conduct(world_size):
    for player in range(1, world_size):
        dist.send(torch.tensor(player), player)
        dist.recv(torch.zeros(()), player)


def print_in_turn(line):
    rank = dist.get_rank()
    if rank == 0:
        sys.stdout.write(line + "\n")
        conduct(dist.get_world_size())
    else:
        dist.recv(torch.tensor(0), 0)
        sys.stdout.write(line + "\n")
        dist.send(torch.ones(()), 0)
