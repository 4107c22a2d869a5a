# verdict: wrong, diagnosis: mixes_minibatches
def minibatch_shares(order, batch_size, rank, world_size):
    local = -(-batch_size // world_size)
    shares = []
    for start in range(0, len(order), batch_size):
        shares.append([order[start + rank + k * world_size] for k in range(local) if start + rank + k * world_size < len(order)])
    return shares
