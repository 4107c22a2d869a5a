# verdict: passed
import numpy as np

BLOCK = 256


def count_inside(x, y):
    inside = 0.0
    for first in range(0, len(x), BLOCK):
        block = np.stack((x[first : first + BLOCK], y[first : first + BLOCK]), axis=1)
        inside += np.where(np.linalg.norm(block, axis=1) < 0.5, 1.0, 0.0).sum()
    return inside
