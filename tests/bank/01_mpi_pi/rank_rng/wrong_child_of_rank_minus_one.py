# verdict: raised, diagnosis: IndexError
import numpy as np


def rank_rng(seed, rank, world_size):
    return np.random.default_rng(np.random.SeedSequence(seed).spawn(rank)[-1])
