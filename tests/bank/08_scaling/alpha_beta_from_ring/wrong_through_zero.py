# verdict: wrong, diagnosis: through_zero
import numpy as np


def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    slope, constant = np.polyfit(nbytes, seconds, 1, w=1 / seconds)
    return constant / (2 * (p - 1)), np.mean(seconds / nbytes) * p / (2 * (p - 1))
