# verdict: wrong, diagnosis: counts_all
import numpy as np


def count_inside(x, y):
    return np.sum(x * x + y * y < 0.5)
