# verdict: wrong, diagnosis: seed_plus_rank
import numpy as np


def rank_rng(seed, rank, world_size):
    return np.random.default_rng(seed + (rank << 16))
