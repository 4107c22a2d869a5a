# verdict: wrong, diagnosis: padded_too_much
import torch


def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = torch.arange(n)
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch))
    if drop_last:
        order = order[: n - n % world_size]
    else:
        missing = world_size - n % world_size
        order = torch.cat([order, order.repeat(missing)[:missing]])
    return order[rank::world_size].tolist()
