# verdict: wrong, diagnosis: dealt_otherwise
def strided_share(n, rank, world_size):
    return list(range(world_size - 1 - rank, n, world_size))
