# verdict: wrong, diagnosis: ignores_rank
def strided_share(n, rank, world_size):
    return list(range(0, n, world_size))
