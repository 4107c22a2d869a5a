# verdict: wrong, diagnosis: same_on_all
def resume_order(order, step, per_rank, old, rank, world_size):
    batch = per_rank * old
    return [order[k : k + batch] for k in range(step * batch, len(order), batch)]
