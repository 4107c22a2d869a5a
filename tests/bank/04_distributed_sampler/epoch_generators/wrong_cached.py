# verdict: wrong, diagnosis: shared_generator
import functools

import torch


@functools.cache
def order_of(seed, epoch):
    return torch.Generator().manual_seed(seed + epoch)


def epoch_generators(seed, epoch, rank, world_size):
    return order_of(seed, epoch), torch.Generator().manual_seed(seed + 10**6 + epoch * world_size + rank)
