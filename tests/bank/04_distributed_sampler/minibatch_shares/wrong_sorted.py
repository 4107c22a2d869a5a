# verdict: wrong, diagnosis: sorted
def minibatch_shares(order, batch_size, rank, world_size):
    return [sorted(order[start : start + batch_size][rank::world_size]) for start in range(0, len(order), batch_size)]
