# verdict: wrong, diagnosis: returns_pi
import numpy as np


def count_inside(x, y):
    inside = np.count_nonzero(x * x + y * y < 0.25)
    return 4 * inside / max(1, len(x))
