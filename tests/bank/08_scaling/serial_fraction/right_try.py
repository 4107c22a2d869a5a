# verdict: passed
import math


def serial_fraction(world_size, speedup, speedup_error):
    try:
        f = (world_size - speedup) / (speedup * (world_size - 1))
        return [f, world_size / (world_size - 1) * (speedup_error / speedup) / speedup]
    except ZeroDivisionError:
        return [math.nan] * 2
