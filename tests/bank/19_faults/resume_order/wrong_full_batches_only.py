# verdict: wrong, diagnosis: drops_the_last
def resume_order(order, step, per_rank, old, rank, world_size):
    batch = per_rank * old
    return [order[k : k + batch][rank::world_size] for k in range(step * batch, len(order) - batch + 1, batch)]
