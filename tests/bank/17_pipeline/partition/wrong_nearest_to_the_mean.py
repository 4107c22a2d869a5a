# verdict: wrong, diagnosis: not_the_best
def partition(costs, p):
    n = len(costs)
    if p > n:
        raise ValueError("no")
    upto = [sum(costs[:k]) for k in range(n + 1)]
    cuts = [0]
    for stage in range(1, p):
        want = sum(costs) * stage / p
        cuts.append(min(range(cuts[-1] + 1, n - (p - stage) + 1), key=lambda k: abs(upto[k] - want)))
    cuts.append(n)
    return [b - a for a, b in zip(cuts, cuts[1:])]
