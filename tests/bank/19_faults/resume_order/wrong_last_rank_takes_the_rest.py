# verdict: wrong, diagnosis: uneven
def resume_order(order, step, per_rank, old, rank, world_size):
    batch, steps = per_rank * old, []
    share = batch // world_size
    for k in range(step * batch, len(order), batch):
        now = order[k : k + batch]
        steps.append(now[rank * share : (rank + 1) * share] if rank < world_size - 1 else now[rank * share :])
    return steps
