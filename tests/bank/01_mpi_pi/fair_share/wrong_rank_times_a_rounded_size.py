# verdict: wrong, diagnosis: hole
def fair_share(n, rank, world_size):
    size = n / world_size
    return int(rank * size), int((rank + 1) * size)
