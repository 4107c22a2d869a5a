# verdict: wrong, diagnosis: sample_twice
def strided_share(n, rank, world_size):
    ids = list(range(rank, n, world_size))
    return ids or [0]
