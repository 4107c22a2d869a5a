# verdict: passed
import numpy as np


def rank_rng(seed, rank, world_size):
    return np.random.RandomState([seed, rank])
