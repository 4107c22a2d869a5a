# verdict: wrong, diagnosis: rounds_the_number
def minibatch_shares(order, batch_size, rank, world_size):
    steps = round(len(order) / batch_size)
    return [order[s * batch_size : (s + 1) * batch_size][rank::world_size] for s in range(steps)]
