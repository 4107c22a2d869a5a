# verdict: passed
def serial_fraction(world_size, speedup, speedup_error):
    p = world_size
    if p < 2:
        return float("nan"), float("nan")
    f = (p / speedup - 1) / (p - 1)
    slope = -p / ((p - 1) * speedup**2)
    return f, abs(slope) * speedup_error
