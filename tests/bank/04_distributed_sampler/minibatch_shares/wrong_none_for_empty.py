# verdict: wrong, diagnosis: none_for_empty
def minibatch_shares(order, batch_size, rank, world_size):
    return [order[start : start + batch_size][rank::world_size] or None for start in range(0, len(order), batch_size)]
