# verdict: passed
def resume_order(order, step, per_rank, old, rank, world_size):
    batch, steps = per_rank * old, []
    left = order[step * batch :]
    while left:
        now, left = left[:batch], left[batch:]
        low, high = (len(now) * r // world_size for r in (rank, rank + 1))
        steps.append(now[low:high])
    return steps
