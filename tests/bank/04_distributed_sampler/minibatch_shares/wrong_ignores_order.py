# verdict: wrong, diagnosis: ignores_order
def minibatch_shares(order, batch_size, rank, world_size):
    n = len(order)
    return [list(range(start + rank, min(start + batch_size, n), world_size)) for start in range(0, n, batch_size)]
