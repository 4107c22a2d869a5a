# verdict: wrong, diagnosis: slopes_averaged
import numpy as np


def alpha_beta_from_ring(world_size, nbytes, seconds):
    p, n, t = world_size, nbytes, seconds
    k = 2 * (p - 1)
    x, y = n / p, t / k
    b = np.mean(np.diff(y) / np.diff(x))
    return np.mean(y - b * x), b
