# verdict: wrong, diagnosis: always_drops
import torch


def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = torch.arange(n)
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch))
    return order[: n // world_size * world_size][rank::world_size]
