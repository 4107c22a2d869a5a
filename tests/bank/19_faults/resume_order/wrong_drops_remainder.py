# verdict: wrong, diagnosis: drops_the_rest
def resume_order(order, step, per_rank, old, rank, world_size):
    batch, share = per_rank * old, per_rank * old // world_size
    return [order[k + rank * share : min(k + batch, k + (rank + 1) * share)] for k in range(step * batch, len(order), batch)]
