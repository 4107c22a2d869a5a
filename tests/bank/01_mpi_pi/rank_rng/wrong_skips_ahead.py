# verdict: wrong, diagnosis: overlapping_streams
import numpy as np


def rank_rng(seed, rank, world_size):
    rng = np.random.default_rng(seed)
    rng.random(1000 * rank)  # the first numbers belong to the ranks before me
    return rng
