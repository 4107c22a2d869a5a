# verdict: passed
def minibatch_shares(order, batch_size, rank, world_size):
    shares = [[] for _ in range((len(order) + batch_size - 1) // batch_size)]
    for position, i in enumerate(order):
        step, place = divmod(position, batch_size)
        if place % world_size == rank:
            shares[step].append(i)
    return tuple(shares)
