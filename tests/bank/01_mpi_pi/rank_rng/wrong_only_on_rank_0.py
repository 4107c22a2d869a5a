# verdict: wrong, diagnosis: not_a_generator
import numpy as np


def rank_rng(seed, rank, world_size):
    if rank == 0:
        return np.random.default_rng(seed)
