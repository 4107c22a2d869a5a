# verdict: wrong, diagnosis: blocks
import math

import numpy as np
import torch


def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = np.arange(n)
    if shuffle:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(seed + epoch)).numpy()
    size = n // world_size if drop_last else math.ceil(n / world_size)
    return np.resize(order, size * world_size)[rank * size : (rank + 1) * size]
