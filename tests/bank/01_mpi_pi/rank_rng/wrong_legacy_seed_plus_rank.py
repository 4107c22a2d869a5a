# verdict: wrong, diagnosis: legacy_generator
import numpy as np


def rank_rng(seed, rank, world_size):
    my_seed = seed + 1 + rank
    return np.random.RandomState(my_seed)
