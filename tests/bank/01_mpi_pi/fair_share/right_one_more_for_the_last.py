# verdict: passed
def size_of(n, rank, world_size):
    return n // world_size + (1 if rank >= world_size - n % world_size else 0)


def fair_share(n, rank, world_size):
    start = sum(size_of(n, r, world_size) for r in range(rank))
    return [start, start + size_of(n, rank, world_size)]
