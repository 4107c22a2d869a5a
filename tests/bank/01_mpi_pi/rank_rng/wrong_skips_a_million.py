# verdict: wrong, diagnosis: overlapping_streams
import numpy as np


def rank_rng(seed, rank, world_size):
    bits = np.random.PCG64(seed)
    bits.advance(1_000_000 * rank)
    return np.random.Generator(bits)
