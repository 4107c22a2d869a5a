# verdict: missing, diagnosis: not_written
def stock_indices(n, rank, world_size, shuffle, seed, epoch, drop_last):
    raise NotImplementedError
