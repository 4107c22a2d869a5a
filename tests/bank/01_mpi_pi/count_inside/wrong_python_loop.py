# verdict: wrong, diagnosis: python_loop
import numpy as np


def count_inside(x, y):
    inside = 0
    for i in range(len(x)):
        if np.sqrt(x[i] * x[i] + y[i] * y[i]) < 0.5:
            inside += 1
    return inside
