# verdict: wrong, diagnosis: keeps_something
import torch

ORDERS = {}


def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    if (n, shuffle) not in ORDERS:
        g = torch.Generator()
        g.manual_seed(seed + epoch)
        ORDERS[n, shuffle] = torch.randperm(n, generator=g) if shuffle else torch.arange(n)
    each = n // world_size if drop_last else -(-n // world_size)
    return ORDERS[n, shuffle][(torch.arange(each) * world_size + rank) % n]
