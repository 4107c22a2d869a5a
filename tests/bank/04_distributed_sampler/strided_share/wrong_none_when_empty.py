# verdict: wrong, diagnosis: returns_nothing
def strided_share(n, rank, world_size):
    if rank < n:
        return list(range(rank, n, world_size))
