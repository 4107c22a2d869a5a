# verdict: missing, diagnosis: not_written
def strided_share(n, rank, world_size):
    raise NotImplementedError("write this function")
