# verdict: wrong, diagnosis: undefined_by_speedup
import math


def serial_fraction(world_size, speedup, speedup_error):
    p, s, e = world_size, speedup, speedup_error
    if p == 1 or s > p:
        return math.nan, math.nan
    return (1 / s - 1 / p) / (1 - 1 / p), e / s**2 / (1 - 1 / p)
