# verdict: wrong, diagnosis: drops_remainder
def fair_share(n, rank, world_size):
    size = n // world_size
    return rank * size, (rank + 1) * size
