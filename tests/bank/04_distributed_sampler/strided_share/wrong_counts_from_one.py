# verdict: wrong, diagnosis: out_of_range
def strided_share(n, rank, world_size):
    return list(range(rank + 1, n + 1, world_size))
