# verdict: passed
# differs: A generator: it hands out one id after the other and never holds the whole share.
def strided_share(n, rank, world_size):
    i = rank
    while i < n:
        yield i
        i += world_size
