# verdict: wrong, diagnosis: float32
import math

import numpy as np


def serial_fraction(world_size, speedup, speedup_error):
    p, s, e = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    p, s, e = map(np.float32, (p, s, e))
    return float((1 / s - 1 / p) / (1 - 1 / p)), float(e / s**2 / (1 - 1 / p))
