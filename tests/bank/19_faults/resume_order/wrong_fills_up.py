# verdict: wrong, diagnosis: fills_up
def resume_order(order, step, per_rank, old, rank, world_size):
    size = per_rank * old
    out = []
    for at in range(step * size, len(order), size):
        batch = order[at : at + size]
        out.append((batch + batch[:-len(batch) % world_size])[rank::world_size])
    return out
