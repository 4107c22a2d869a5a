# verdict: passed
def minibatch_shares(order, batch_size, rank, world_size):
    steps = (len(order) + batch_size - 1) // batch_size
    shares = [[] for _ in range(steps)]
    for position, sample in enumerate(order):
        step, place = divmod(position, batch_size)
        if place % world_size == rank:
            shares[step].append(sample)
    return shares
