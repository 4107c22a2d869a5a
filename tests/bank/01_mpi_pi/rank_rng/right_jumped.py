# verdict: passed
import numpy as np


def rank_rng(seed, rank, world_size):
    # jumped() moves on by about 2**127 numbers: nobody ever gets there on foot
    return np.random.Generator(np.random.PCG64(seed).jumped(rank + 1))
