# verdict: wrong, diagnosis: not_shuffled
import numpy as np


def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    return np.resize(np.arange(n), n - n % world_size if drop_last else n + -n % world_size)[rank::world_size]
