# verdict: wrong, diagnosis: python_loop
import math

import numpy as np


def count_inside(x, y):
    if len(x) == 0:
        return 0
    distance = np.frompyfunc(math.hypot, 2, 1)
    return int((distance(x, y) < 0.5).sum())
