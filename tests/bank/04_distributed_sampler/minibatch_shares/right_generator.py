# verdict: passed
def minibatch_shares(order, batch_size, rank, world_size):
    minibatch = []
    for sample in order:
        minibatch.append(sample)
        if len(minibatch) == batch_size:
            yield tuple(minibatch[rank::world_size])
            minibatch = []
    if minibatch:
        yield tuple(minibatch[rank::world_size])
