# verdict: passed
import numpy as np


def alpha_beta_from_ring(world_size, nbytes, seconds):
    p, n, t = world_size, nbytes, seconds
    k = 2 * (p - 1)
    x, y = n / p, t / k
    b, a = np.polyfit(x, y, 1, w=x)
    return a, b
