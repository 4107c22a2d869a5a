# verdict: wrong, diagnosis: power_law
import numpy as np


def alpha_beta_from_ring(world_size, nbytes, seconds):
    steps = 2 * (world_size - 1)
    slope, constant = np.polyfit(np.log(nbytes / world_size), np.log(seconds / steps), 1)
    return np.exp(constant), slope
