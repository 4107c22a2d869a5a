# verdict: wrong, diagnosis: global_state
import numpy as np


def rank_rng(seed, rank, world_size):
    np.random.seed(1000 * seed + rank)
    return np.random
