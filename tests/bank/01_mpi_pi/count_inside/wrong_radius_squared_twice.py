# verdict: wrong, diagnosis: radius_squared_twice
import numpy as np


def count_inside(x, y):
    r = np.sqrt(x**2 + y**2)
    return np.count_nonzero(r < 0.25)
