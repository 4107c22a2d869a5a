# verdict: wrong, diagnosis: chunks_multiplied
import numpy as np


def alpha_beta_from_ring(world_size, nbytes, seconds):
    slope, constant = np.polyfit(nbytes * world_size, seconds / (2 * (world_size - 1)), 1, w=1 / seconds)
    return constant, slope
