# verdict: wrong, diagnosis: gustafson
import math


def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = (p - s) / (p - 1)
    df = ds / s**2 / (1 - 1 / p)
    return f, df
