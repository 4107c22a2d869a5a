# verdict: wrong, diagnosis: not_in_minibatches
def minibatch_shares(order, batch_size, rank, world_size):
    own = []
    for start in range(0, len(order), batch_size):
        own += order[start : start + batch_size][rank::world_size]
    return own
