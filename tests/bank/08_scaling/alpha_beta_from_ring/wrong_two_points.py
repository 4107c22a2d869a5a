# verdict: wrong, diagnosis: two_points
import numpy as np


def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    slope, constant = np.polyfit(nbytes[[0, -1]], seconds[[0, -1]], 1)
    return constant / (2 * (p - 1)), slope * p / (2 * (p - 1))
