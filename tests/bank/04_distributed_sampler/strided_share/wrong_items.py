# verdict: wrong, diagnosis: items
def strided_share(n, rank, world_size):
    return [10 * i for i in range(rank, n, world_size)]
