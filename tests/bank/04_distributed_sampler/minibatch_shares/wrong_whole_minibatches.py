# verdict: wrong, diagnosis: whole_minibatches
def minibatch_shares(order, batch_size, rank, world_size):
    minibatches = [order[start : start + batch_size] for start in range(0, len(order), batch_size)]
    return minibatches[rank::world_size]
