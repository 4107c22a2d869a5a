# verdict: wrong, diagnosis: uses_library
import torch
from torch.utils.data import DistributedSampler


class Mine(DistributedSampler):
    pass


def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    s = Mine(range(n), world_size, rank, shuffle, seed, drop_last)
    s.set_epoch(epoch)
    return list(iter(s))
