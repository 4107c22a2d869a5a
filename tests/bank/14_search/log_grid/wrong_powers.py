# verdict: wrong, diagnosis: powers_of_ten
import numpy as np


def log_grid(low, high, n):
    if low <= 0 or high <= low or n < 2:
        raise ValueError("0 < low < high, and at least two points")
    return 10.0 ** np.round(np.linspace(np.log10(low), np.log10(high), n))
