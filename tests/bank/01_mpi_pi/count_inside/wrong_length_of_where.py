# verdict: wrong, diagnosis: counts_axes
import numpy as np


def count_inside(x, y):
    return len(np.where(x**2 + y**2 < 0.25))
