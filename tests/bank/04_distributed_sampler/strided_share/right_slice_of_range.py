# verdict: passed
# differs: A slice of a range is a range: nothing is stored, and Python does the counting.
def strided_share(n, rank, world_size):
    return range(n)[rank::world_size]
