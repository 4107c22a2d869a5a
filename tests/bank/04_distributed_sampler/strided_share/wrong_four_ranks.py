# verdict: wrong, diagnosis: sample_left_out
def strided_share(n, rank, world_size):
    return list(range(rank, n, 4))
