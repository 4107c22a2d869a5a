# verdict: wrong, diagnosis: inclusive_stop
def fair_share(n, rank, world_size):
    size, rest = divmod(n, world_size)
    start = rank * size + min(rank, rest)
    return start, start + size + (rank < rest) - 1
