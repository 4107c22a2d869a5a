# verdict: wrong, diagnosis: microseconds
import numpy as np


def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    slope, constant = np.polyfit(nbytes, 1e6 * seconds, 1)
    return constant / (2 * (p - 1)), slope * p / (2 * (p - 1))
