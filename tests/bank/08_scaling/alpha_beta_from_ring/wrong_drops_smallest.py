# verdict: wrong, diagnosis: not_all_measurements
import numpy as np


def alpha_beta_from_ring(world_size, nbytes, seconds):
    p, n, t = world_size, nbytes, seconds
    k = 2 * (p - 1)
    x, y = n[1:] / p, t[1:] / k
    b, a = np.polyfit(x, y, 1, w=1 / y)
    return a, b
