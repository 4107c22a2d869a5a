# verdict: wrong, diagnosis: blocks
import numpy as np


def strided_share(n, rank, world_size):
    return np.array_split(np.arange(n), world_size)[rank].tolist()
