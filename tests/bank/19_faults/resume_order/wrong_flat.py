# verdict: wrong, diagnosis: not_lists
def resume_order(order, step, per_rank, old, rank, world_size):
    batch = per_rank * old
    return order[step * batch :][rank::world_size]
