# verdict: wrong, diagnosis: batch_size_per_rank
def minibatch_shares(order, batch_size, rank, world_size):
    together = batch_size * world_size
    return [order[start : start + together][rank::world_size] for start in range(0, len(order), together)]
