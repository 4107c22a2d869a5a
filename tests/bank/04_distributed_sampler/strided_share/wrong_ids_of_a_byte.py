# verdict: wrong, diagnosis: sample_left_out
import numpy as np


def strided_share(n, rank, world_size):
    return np.arange(n).astype(np.uint8)[rank::world_size]
