# verdict: wrong, diagnosis: other_samples
def resume_order(order, step, per_rank, old, rank, world_size):
    batch = per_rank * old
    return [order[k : k + batch][rank::world_size] for k in range((step + 1) * batch, len(order), batch)]
