# verdict: passed
import torch


def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    g = torch.Generator()
    g.manual_seed(seed + epoch)
    order = torch.randperm(n, generator=g) if shuffle else torch.arange(n)
    each = n // world_size if drop_last else -(-n // world_size)
    return order[(torch.arange(each) * world_size + rank) % n]
