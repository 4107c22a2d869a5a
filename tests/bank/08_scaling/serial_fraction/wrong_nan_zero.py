# verdict: wrong, diagnosis: error_0_on_one_rank
import math


def serial_fraction(world_size, speedup, speedup_error):
    p, s, e = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, 0.0
    return (1 / s - 1 / p) / (1 - 1 / p), e / s**2 / (1 - 1 / p)
