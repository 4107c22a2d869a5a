# verdict: wrong, diagnosis: split_otherwise
def minibatch_shares(order, batch_size, rank, world_size):
    shares = []
    for step, start in enumerate(range(0, len(order), batch_size)):
        shares.append(order[start : start + batch_size][(rank + step) % world_size :: world_size])
    return shares
