# verdict: passed
import math


def serial_fraction(world_size, speedup, speedup_error):
    if world_size == 1:
        return math.nan, math.nan
    scale = 1 - 1 / world_size
    return (1 / speedup - 1 / world_size) / scale, speedup_error / speedup**2 / scale
