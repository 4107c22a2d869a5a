# verdict: raised, diagnosis: ZeroDivisionError
def serial_fraction(world_size, speedup, speedup_error):
    f = (1 / speedup - 1 / world_size) / (1 - 1 / world_size)
    return f, speedup_error / speedup**2 / (1 - 1 / world_size)
