# verdict: wrong, diagnosis: start_from_own_size
def fair_share(n, rank, world_size):
    size = n // world_size
    if rank < n % world_size:
        size = size + 1
    start = rank * size
    return start, start + size
