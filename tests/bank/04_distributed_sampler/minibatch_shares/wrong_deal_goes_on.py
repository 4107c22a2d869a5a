# verdict: wrong, diagnosis: deal_goes_on
def minibatch_shares(order, batch_size, rank, world_size):
    return [
        [order[k] for k in range(start, min(start + batch_size, len(order))) if k % world_size == rank]
        for start in range(0, len(order), batch_size)
    ]
