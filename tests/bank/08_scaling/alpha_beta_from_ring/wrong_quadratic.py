# verdict: wrong, diagnosis: more_than_a_line
import numpy as np


def alpha_beta_from_ring(world_size, nbytes, seconds):
    p, n, t = world_size, nbytes, seconds
    k = 2 * (p - 1)
    x, y = n / p, t / k
    _, b, a = np.polyfit(x, y, 2, w=1 / y)
    return a, b
