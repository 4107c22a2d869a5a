# verdict: wrong, diagnosis: not_a_generator
import numpy as np


def rank_rng(seed, rank, world_size):
    return np.random.SeedSequence(seed).spawn(world_size)[rank]
