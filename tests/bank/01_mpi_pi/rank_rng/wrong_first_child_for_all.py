# verdict: wrong, diagnosis: same_stream
import numpy as np


def rank_rng(seed, rank, world_size):
    child = np.random.SeedSequence(seed).spawn(1)[0]
    return np.random.default_rng(child)
