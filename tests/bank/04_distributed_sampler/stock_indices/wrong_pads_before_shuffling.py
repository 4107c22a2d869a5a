# verdict: wrong, diagnosis: pads_before_shuffling
import numpy as np
import torch


def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = np.resize(np.arange(n), n - n % world_size if drop_last else n + -n % world_size)
    if shuffle:
        order = order[torch.randperm(len(order), generator=torch.Generator().manual_seed(seed + epoch)).numpy()]
    return order[rank::world_size]
