# verdict: wrong, diagnosis: python_loop
import math

from numpy import vectorize


def count_inside(x, y):
    if len(x) == 0:
        return 0
    return int((vectorize(math.hypot)(x, y) < 0.5).sum())
