# verdict: wrong, diagnosis: uses_library
from torch.utils.data import DistributedSampler


def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    sampler = DistributedSampler(range(n), world_size, rank, shuffle=shuffle, seed=seed, drop_last=drop_last)
    sampler.set_epoch(epoch)
    return list(sampler)
