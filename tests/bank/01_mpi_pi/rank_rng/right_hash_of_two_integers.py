# verdict: passed
import numpy as np


def rank_rng(seed, rank, world_size):
    # integers and tuples of them have the same hash in every process, unlike strings
    return np.random.default_rng(hash((seed, rank)) % 2**63)
