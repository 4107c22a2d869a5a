# verdict: wrong, diagnosis: own_order
def strided_share(n, rank, world_size):
    return {i for i in range(n) if i % world_size == rank}
