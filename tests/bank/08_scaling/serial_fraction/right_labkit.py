# verdict: passed
# differs: The course's own estimate carries the error along, so that no derivative has to be written down.

from labkit import scaling


def serial_fraction(world_size, speedup, speedup_error):
    p, s, e = world_size, speedup, speedup_error
    if p == 1:
        return float("nan"), float("nan")
    x = scaling.karp_flatt(scaling.Estimate(s, e), p)
    return x.value, x.error
