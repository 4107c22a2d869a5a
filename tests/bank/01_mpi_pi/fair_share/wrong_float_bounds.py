# verdict: wrong, diagnosis: float_bounds
def fair_share(n, rank, world_size):
    share = n / world_size
    return rank * share, (rank + 1) * share
