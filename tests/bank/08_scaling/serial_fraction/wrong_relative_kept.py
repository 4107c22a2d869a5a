# verdict: wrong, diagnosis: relative_kept
import math


def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = (1 / s - 1 / p) / (1 - 1 / p)
    df = abs(f) * ds / s
    return f, df
