# verdict: wrong, diagnosis: touches_global_state
import numpy as np


def rank_rng(seed, rank, world_size):
    np.random.seed(seed)  # for whoever uses it
    return np.random.default_rng([rank, seed])
