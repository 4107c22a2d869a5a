# verdict: wrong, diagnosis: rounds_up
def fair_share(n, rank, world_size):
    size = (n + world_size - 1) // world_size
    return rank * size, (rank + 1) * size
