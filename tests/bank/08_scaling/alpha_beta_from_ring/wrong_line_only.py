# verdict: wrong, diagnosis: line_only
import numpy as np


def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    slope, constant = np.polyfit(nbytes, seconds, 1, w=1 / seconds)
    return constant, slope
