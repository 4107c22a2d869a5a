# verdict: passed
import numpy as np


def rank_rng(seed, rank, world_size):
    return np.random.Generator(np.random.Philox(key=seed + (rank << 64)))
