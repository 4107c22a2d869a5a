# verdict: wrong, diagnosis: one_minibatch_too_many
def minibatch_shares(order, batch_size, rank, world_size):
    return [order[k * batch_size : (k + 1) * batch_size][rank::world_size] for k in range(len(order) // batch_size + 1)]
