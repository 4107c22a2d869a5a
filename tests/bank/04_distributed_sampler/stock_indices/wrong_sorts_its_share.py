# verdict: wrong, diagnosis: own_order
import numpy as np
import torch


def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = np.arange(n)
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)).numpy()
    return np.sort(np.resize(order, n - n % world_size if drop_last else n + -n % world_size)[rank::world_size])
