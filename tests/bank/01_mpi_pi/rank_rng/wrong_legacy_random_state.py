# verdict: wrong, diagnosis: legacy_generator
import numpy as np


def rank_rng(seed, rank, world_size):
    return np.random.RandomState([seed, rank])
