# verdict: wrong, diagnosis: starts_at_one
def strided_share(n, rank, world_size):
    return list(range(rank + 1, n, world_size))
