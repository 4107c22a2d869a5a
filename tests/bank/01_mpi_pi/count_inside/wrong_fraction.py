# verdict: wrong, diagnosis: fraction
import numpy as np


def count_inside(x, y):
    if len(x) == 0:
        return 0
    return np.mean(x * x + y * y < 0.25)
