# verdict: wrong, diagnosis: two_bases
import numpy as np


def log_grid(low, high, n):
    if low <= 0 or high <= low or n < 2:
        raise ValueError("0 < low < high, and at least two points")
    return np.exp(np.linspace(np.log10(low), np.log10(high), n))
