# verdict: wrong, diagnosis: each_once
import numpy as np


def count_inside(x, y):
    return len(np.unique(x[x * x + y * y < 0.25]))
