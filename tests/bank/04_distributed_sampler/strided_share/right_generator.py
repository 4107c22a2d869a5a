# verdict: passed
def strided_share(n, rank, world_size):
    i = rank
    while i < n:
        yield i
        i += world_size
