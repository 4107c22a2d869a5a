# verdict: wrong, diagnosis: modifies_input
def minibatch_shares(order, batch_size, rank, world_size):
    out = []
    while order:
        batch = [order.pop(0) for _ in range(min(batch_size, len(order)))]
        out.append(batch[rank::world_size])
    return out
