# verdict: wrong, diagnosis: starts_at_one
def fair_share(n, rank, world_size):
    size, rest = divmod(n, world_size)
    start = 1 + rank * size + min(rank, rest)
    return start, start + size + (1 if rank < rest else 0)
