# verdict: wrong, diagnosis: percent
import math


def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = 100 * (1 / s - 1 / p) / (1 - 1 / p)
    df = ds / s**2 / (1 - 1 / p)
    return f, df
