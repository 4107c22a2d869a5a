# verdict: wrong, diagnosis: never_ahead
def utilisation(make, step, depth):
    steps = len(make[0])
    slowest = [max(rank[k] for rank in make) for k in range(steps)]
    return [(steps * step, sum(rank), sum(slowest) - sum(rank)) for rank in make]
