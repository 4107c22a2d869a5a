# verdict: passed
# differs: Long times, which scatter more, count less, and the line is fitted over n / p, so that the slope is beta at once.
import numpy as np


def alpha_beta_from_ring(world_size, nbytes, seconds):
    p, n, t = world_size, nbytes, seconds
    b, a = np.polyfit(n / p, t / (2 * (p - 1)), 1, w=1 / np.sqrt(t))
    return a, b
