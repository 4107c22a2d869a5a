# verdict: wrong, diagnosis: drops_a_round_too_many
import numpy as np
import torch


def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = np.arange(n)
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)).numpy()
    if drop_last:
        order = order[: max(0, (n - world_size) // world_size * world_size)]
    else:
        order = np.resize(order, n + -n % world_size)
    return order[rank::world_size]
