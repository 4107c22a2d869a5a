# verdict: wrong, diagnosis: shared_generator
import functools

import numpy as np


@functools.cache
def rank_rng(seed, rank, world_size):
    return np.random.default_rng([seed, rank])
