# verdict: wrong, diagnosis: tree
import numpy as np


def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    slope, constant = np.polyfit(nbytes, seconds, 1, w=1 / seconds)
    return constant / (2 * np.ceil(np.log2(p))), slope / (2 * np.ceil(np.log2(p)))
