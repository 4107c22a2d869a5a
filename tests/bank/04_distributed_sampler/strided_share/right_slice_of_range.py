# verdict: passed
def strided_share(n, rank, world_size):
    return range(n)[rank::world_size]
