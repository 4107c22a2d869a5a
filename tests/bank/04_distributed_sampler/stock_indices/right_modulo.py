# verdict: passed
# differs: It pads nothing: the place in the order is taken modulo n, so that whoever runs over the end begins again.
import math

import torch


def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    torch.manual_seed(seed + epoch)
    order = torch.randperm(n) if shuffle else torch.arange(n)
    rounds = n // world_size if drop_last else math.ceil(n / world_size)
    return [int(order[(rank + k * world_size) % n]) for k in range(rounds)]
