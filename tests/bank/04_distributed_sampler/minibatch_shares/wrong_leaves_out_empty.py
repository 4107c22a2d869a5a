# verdict: wrong, diagnosis: leaves_out_empty
def minibatch_shares(order, batch_size, rank, world_size):
    shares = []
    for start in range(0, len(order), batch_size):
        own = order[start : start + batch_size][rank::world_size]
        if own:
            shares.append(own)
    return shares
