# verdict: wrong, diagnosis: rounds_the_number
def minibatch_shares(order, batch_size, rank, world_size):
    starts = range(0, len(order) - 1, batch_size)
    return [order[start : start + batch_size][rank::world_size] for start in starts]
