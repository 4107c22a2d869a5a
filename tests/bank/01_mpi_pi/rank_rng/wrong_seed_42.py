# verdict: wrong, diagnosis: same_stream
import numpy as np


def rank_rng(seed, rank, world_size):
    rng = np.random.default_rng(42)
    return rng
