# verdict: passed
import numpy as np


def rank_rng(seed, rank, world_size):
    children = np.random.SeedSequence(seed).spawn(world_size)
    return np.random.default_rng(children[rank])
