# verdict: wrong, diagnosis: drops_the_rest
def minibatch_shares(order, batch_size, rank, world_size):
    shares = []
    for start in range(0, len(order), batch_size):
        minibatch = order[start : start + batch_size]
        local = len(minibatch) // world_size
        shares.append(minibatch[: local * world_size][rank::world_size])
    return shares
