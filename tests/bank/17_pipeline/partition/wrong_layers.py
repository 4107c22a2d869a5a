# verdict: wrong, diagnosis: not_sizes
import itertools


def best(costs, p):
    n = len(costs)
    cuts = min(
        itertools.combinations(range(1, n), p - 1),
        key=lambda cuts: max(sum(costs[a:b]) for a, b in itertools.pairwise((0, *cuts, n))),
    )
    return (0, *cuts, n)


def partition(costs, p):
    if p > len(costs):
        raise ValueError("no")
    return [list(range(a, b)) for a, b in itertools.pairwise(best(costs, p))]
