# verdict: passed
# differs: One single stream, in which rank r begins 2^80 r draws further on: no two ranks can ever meet.
import numpy as np


def rank_rng(seed, rank, world_size):
    bits = np.random.PCG64(np.random.SeedSequence([seed]))
    bits.advance(rank << 80)
    return np.random.Generator(bits)
