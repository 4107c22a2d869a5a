# verdict: wrong, diagnosis: other_seed_at_zero
import torch


def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    order = list(range(n))
    if shuffle:
        g = torch.Generator()
        if seed:
            g.manual_seed(seed + epoch)
        order = torch.randperm(n, generator=g).tolist()
    if drop_last:
        order = order[: n // world_size * world_size]
    else:
        order = (order * world_size)[: -(-n // world_size) * world_size]
    return order[rank::world_size]
