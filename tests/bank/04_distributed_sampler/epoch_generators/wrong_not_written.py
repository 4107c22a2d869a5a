# verdict: missing, diagnosis: not_written
def epoch_generators(seed, epoch, rank, world_size):
    raise NotImplementedError("write this function")
