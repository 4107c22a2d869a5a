# verdict: wrong, diagnosis: shuffles_its_share
import numpy as np
import torch


def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    own = np.resize(np.arange(n), n - n % world_size if drop_last else n + -n % world_size)[rank::world_size]
    if shuffle:
        own = own[torch.randperm(len(own), generator=torch.Generator().manual_seed(seed + epoch)).numpy()]
    return own
