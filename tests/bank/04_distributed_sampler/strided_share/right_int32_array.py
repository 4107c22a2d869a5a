# verdict: passed
import numpy as np


def strided_share(n, rank, world_size):
    return np.arange(rank, n, world_size, dtype=np.int32)
