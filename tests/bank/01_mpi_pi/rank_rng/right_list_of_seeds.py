# verdict: passed
# differs: NumPy mixes all numbers of a list into the seed, so that (rank, seed) names a stream without any arithmetic.
import numpy as np


def rank_rng(seed, rank, world_size):
    return np.random.default_rng([rank, seed])
