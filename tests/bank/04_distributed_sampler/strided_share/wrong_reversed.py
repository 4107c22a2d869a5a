# verdict: wrong, diagnosis: own_order
def strided_share(n, rank, world_size):
    return list(range(rank, n, world_size))[::-1]
