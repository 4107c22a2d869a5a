# verdict: wrong, diagnosis: not_integers
import torch


def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    order = torch.arange(n).float()
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)).float()
    if drop_last:
        order = order[: n // world_size * world_size]
    else:
        order = order.repeat(world_size)[: -(-n // world_size) * world_size]
    return order[rank::world_size]
