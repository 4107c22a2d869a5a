# verdict: wrong, diagnosis: drops_the_rest
def strided_share(n, rank, world_size):
    return [rank + k * world_size for k in range(n // world_size)]
