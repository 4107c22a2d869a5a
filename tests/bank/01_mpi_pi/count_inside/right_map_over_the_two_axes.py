# verdict: passed
import numpy as np


def count_inside(x, y):
    return int(np.sum(sum(map(np.square, (x, y))) < 0.25))
