# verdict: wrong, diagnosis: overlap
def fair_share(n, rank, world_size):
    size = n // world_size
    start = rank * size
    stop = min(n, start + size + 1)
    return start, stop
