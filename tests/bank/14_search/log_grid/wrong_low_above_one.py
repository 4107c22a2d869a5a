# verdict: wrong, diagnosis: raises_without_reason
import numpy as np


def log_grid(low, high, n):
    if not 0 < low < high <= 1 or n < 2:
        raise ValueError
    return np.geomspace(low, high, n).tolist()
