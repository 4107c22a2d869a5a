# verdict: wrong, diagnosis: split_otherwise
def minibatch_shares(order, batch_size, rank, world_size):
    shares = []
    for start in range(0, len(order), batch_size):
        minibatch = order[start : start + batch_size]
        whole = len(minibatch) // world_size * world_size
        shares.append(minibatch[:whole][rank::world_size])
        if rank == world_size - 1:
            shares[-1] = shares[-1] + minibatch[whole:]
    return shares
