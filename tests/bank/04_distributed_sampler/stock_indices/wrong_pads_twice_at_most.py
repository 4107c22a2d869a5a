# verdict: wrong, diagnosis: no_padding
import torch


def stock_indices(n, rank, world_size, shuffle=False, seed=0, epoch=0, drop_last=False):
    g = torch.Generator()
    g.manual_seed(seed + epoch)
    order = torch.randperm(n, generator=g).tolist() if shuffle else list(range(n))
    if drop_last:
        return order[: n - n % world_size][rank::world_size]
    total = n + -n % world_size
    order += order[: total - len(order)]
    order += order[: total - len(order)]
    return order[rank::world_size]
