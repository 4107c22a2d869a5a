# verdict: wrong, diagnosis: diamond
import numpy as np


def count_inside(x, y):
    return int(np.sum(np.abs(x) + np.abs(y) < 0.5))
