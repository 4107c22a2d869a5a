# verdict: passed
# differs: `divmod` gives the size and the rest, and the first ranks take one more: the long shares come first.
def fair_share(n, rank, world_size):
    size, rest = divmod(n, world_size)
    start = rank * size + min(rank, rest)
    if rank < rest:
        size += 1
    return start, start + size
