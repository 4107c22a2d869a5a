# verdict: wrong, diagnosis: padded
def minibatch_shares(order, batch_size, rank, world_size):
    shares = []
    for start in range(0, len(order), batch_size):
        minibatch = list(order[start : start + batch_size])
        while len(minibatch) % world_size:
            minibatch += minibatch[: world_size - len(minibatch) % world_size]
        shares.append(minibatch[rank::world_size])
    return shares
