# verdict: passed
# differs: It steps through the order in global minibatches from where the old ranks stopped, and deals each out anew.
def resume_order(order, step, per_rank, old, rank, world_size):
    batch = per_rank * old
    return [order[k : k + batch][rank::world_size] for k in range(step * batch, len(order), batch)]
