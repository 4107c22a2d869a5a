# verdict: wrong, diagnosis: own_order
def minibatch_shares(order, batch_size, rank, world_size):
    return [order[s : s + batch_size][rank::world_size][::-1] for s in range(0, len(order), batch_size)]
