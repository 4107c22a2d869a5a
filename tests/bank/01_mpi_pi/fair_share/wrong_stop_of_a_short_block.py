# verdict: wrong, diagnosis: hole
def fair_share(n, rank, world_size):
    size = n // world_size
    start = rank * size + min(rank, n % world_size)
    return start, start + size
