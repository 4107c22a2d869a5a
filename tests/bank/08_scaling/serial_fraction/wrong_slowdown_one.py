# verdict: wrong, diagnosis: cut_off_at_1
import math


def serial_fraction(world_size, speedup, speedup_error):
    p, s, e = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    return min(1.0, (1 / s - 1 / p) / (1 - 1 / p)), e / s**2 / (1 - 1 / p)
