# verdict: wrong, diagnosis: no_empty_list
def resume_order(order, step, per_rank, old, rank, world_size):
    batch = per_rank * old
    out = []
    for start in range(step * batch, len(order), batch):
        mini = order[start:start + batch]
        if mini[rank::world_size]: out.append(mini[rank::world_size])
    return out
