# verdict: passed
import numpy as np


def rank_rng(seed, rank, world_size):
    return np.random.default_rng(seed * world_size + rank)
