# verdict: wrong, diagnosis: takes_anything
import numpy as np


def log_grid(low, high, n):
    return np.exp(np.linspace(np.log(low), np.log(high), n))
