# verdict: wrong, diagnosis: inverse_of_error
import math


def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return math.nan, math.nan
    f = (1 / s - 1 / p) / (1 - 1 / p)
    df = (1 / ds - 1 / p) / (1 - 1 / p)
    return f, df
