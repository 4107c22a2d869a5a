# verdict: passed
import torch


def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    if shuffle:
        g = torch.Generator()
        g.manual_seed(seed + epoch)
        order = torch.randperm(n, generator=g).tolist()
    else:
        order = list(range(n))
    if drop_last:
        order = order[: n // world_size * world_size]
    else:
        total = (n + world_size - 1) // world_size * world_size
        while len(order) < total:
            order += order[: total - len(order)]
    return order[rank::world_size]
