# verdict: wrong, diagnosis: position_of_new_ranks
def resume_order(order, step, per_rank, old, rank, world_size):
    batch = per_rank * world_size
    return [order[k : k + batch][rank::world_size] for k in range(step * batch, len(order), batch)]
