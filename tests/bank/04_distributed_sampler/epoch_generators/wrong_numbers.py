# verdict: wrong, diagnosis: not_generators
def epoch_generators(seed, epoch, rank, world_size):
    return seed + epoch, seed + 1_000_000 + epoch * world_size + rank
