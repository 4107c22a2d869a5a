# verdict: wrong, diagnosis: negative_error
import math


def serial_fraction(world_size, speedup, speedup_error):
    p, s, e = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = (1 / s - 1 / p) / (1 - 1 / p)
    return f, math.copysign(e / s**2 / (1 - 1 / p), f)
