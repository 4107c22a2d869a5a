# verdict: passed
import numpy as np


def count_inside(x, y):
    return np.count_nonzero(x * x + y * y < 0.25)
