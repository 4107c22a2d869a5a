# verdict: wrong, diagnosis: orders_differ
import numpy as np


def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    order = np.random.permutation(n) if shuffle else np.arange(n)
    return np.resize(order, n - n % world_size if drop_last else n + -n % world_size)[rank::world_size]
