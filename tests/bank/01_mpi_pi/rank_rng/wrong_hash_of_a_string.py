# verdict: wrong, diagnosis: unseeded
import numpy as np


def rank_rng(seed, rank, world_size):
    return np.random.default_rng(abs(hash(f"{seed}-{rank}")))
