# verdict: wrong, diagnosis: ValueError
import itertools


def best(costs, p):
    n = len(costs)
    cuts = min(
        itertools.combinations(range(1, n), p - 1),
        key=lambda cuts: max(sum(costs[a:b]) for a, b in itertools.pairwise((0, *cuts, n))),
    )
    return (0, *cuts, n)


def partition(costs, p):
    if len(costs) % p:
        raise ValueError("the layers do not divide evenly")
    return [b - a for a, b in itertools.pairwise(best(costs, p))]
