# verdict: wrong, diagnosis: python_loop
import numpy as np


@np.vectorize
def hit(x, y):
    return x**2 + y**2 < 0.5**2


def count_inside(x, y):
    return int(hit(x, y).sum()) if len(x) else 0
