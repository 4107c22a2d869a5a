# verdict: wrong, diagnosis: none_on_one_rank
def serial_fraction(world_size, speedup, speedup_error):
    p, s, ds = world_size, speedup, speedup_error
    if p == 1:
        return None, None
    f = (1 / s - 1 / p) / (1 - 1 / p)
    df = ds / s**2 / (1 - 1 / p)
    return f, df
