# verdict: wrong, diagnosis: modifies_input
def minibatch_shares(order, batch_size, rank, world_size):
    out = []
    for s in range(0, len(order), batch_size):
        out.append(order[s : s + batch_size][rank::world_size])
    order.sort()
    return out
