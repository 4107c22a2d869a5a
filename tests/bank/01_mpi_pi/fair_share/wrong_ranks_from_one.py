# verdict: wrong, diagnosis: out_of_range
def fair_share(n, rank, world_size):
    size = n // world_size
    rest = n % world_size
    start = (rank + 1) * size + min(rank, rest)
    return start, start + size + (1 if rank < rest else 0)
