# verdict: raised, diagnosis: ZeroDivisionError
def fair_share(n, rank, world_size):
    helpers = min(n, world_size)
    size, rest = divmod(n, helpers)
    if rank >= helpers:
        return n, n
    start = rank * size + min(rank, rest)
    return start, start + size + (rank < rest)
