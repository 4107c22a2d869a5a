# verdict: passed
import numpy as np


def count_inside(x, y):
    distance = np.hypot(x, y)
    return len(x[distance < 0.5])
