# verdict: wrong, diagnosis: stock_then_cut
def minibatch_shares(order, batch_size, rank, world_size):
    own = order[rank::world_size]
    local = max(batch_size // world_size, 1)
    return [own[start : start + local] for start in range(0, len(own), local)]
