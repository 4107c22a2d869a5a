# verdict: passed
import torch


def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    g = torch.Generator()
    g.manual_seed(seed + epoch)
    order = torch.randperm(n, generator=g) if shuffle else torch.arange(n)
    rest = n % world_size
    if rest and drop_last:
        order = order[:-rest]
    elif rest:
        missing = world_size - rest
        order = torch.cat([order, order.repeat(missing // n + 1)[:missing]])
    return order.view(-1, world_size)[:, rank]
