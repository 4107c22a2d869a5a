# verdict: wrong, diagnosis: not_integers
import numpy as np


def strided_share(n, rank, world_size):
    return np.arange(rank, n, world_size, dtype=float).tolist()
