# verdict: wrong, diagnosis: not_a_generator
import numpy as np


def rank_rng(seed, rank, world_size):
    rng = np.random.default_rng([seed, rank])
