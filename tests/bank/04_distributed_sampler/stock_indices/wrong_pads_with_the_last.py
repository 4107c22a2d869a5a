# verdict: wrong, diagnosis: other_padding
import torch


def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = list(range(n))
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)).tolist()
    if drop_last:
        order = order[: n - n % world_size]
    while len(order) % world_size:
        order.append(order[-1])
    return order[rank::world_size]
