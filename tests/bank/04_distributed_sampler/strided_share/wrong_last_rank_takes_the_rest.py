# verdict: wrong, diagnosis: dealt_otherwise
def strided_share(n, rank, world_size):
    rounds = n // world_size
    ids = [rank + k * world_size for k in range(rounds)]
    if rank == world_size - 1:
        ids += range(rounds * world_size, n)
    return ids
