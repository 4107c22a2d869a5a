# verdict: wrong, diagnosis: glued_seed
import numpy as np


def rank_rng(seed, rank, world_size):
    return np.random.default_rng(int(f"{seed}{rank}"))
