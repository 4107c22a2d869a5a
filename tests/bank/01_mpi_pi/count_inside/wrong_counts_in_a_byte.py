# verdict: wrong, diagnosis: narrow_count
import numpy as np


def count_inside(x, y):
    return int((x**2 + y**2 < 0.25).sum(dtype=np.uint8))
