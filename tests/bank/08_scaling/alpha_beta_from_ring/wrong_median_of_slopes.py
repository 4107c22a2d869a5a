# verdict: wrong, diagnosis: slopes_averaged
import numpy as np


def alpha_beta_from_ring(world_size, nbytes, seconds):
    p, n, t = world_size, nbytes, seconds
    k = 2 * (p - 1)
    x, y = n / p, t / k
    sl = [(y[j] - y[i]) / (x[j] - x[i]) for i in range(len(x)) for j in range(i)]
    b = np.median(sl)
    return np.median(y - b * x), b
