# verdict: wrong, diagnosis: not_the_best
import itertools


def partition(costs, p):
    n = len(costs)
    if p > n:
        raise ValueError("no")

    def sums(cuts):
        return [sum(costs[a:b]) for a, b in itertools.pairwise((0, *cuts, n))]

    cuts = min(itertools.combinations(range(1, n), p - 1), key=lambda cuts: max(sums(cuts)) - min(sums(cuts)))
    return [b - a for a, b in itertools.pairwise((0, *cuts, n))]
