# verdict: wrong, diagnosis: not_the_best
import itertools


def partition(costs, p):
    n = len(costs)
    if p > n:
        raise ValueError("no")

    def parts(cuts):
        return [costs[a:b] for a, b in itertools.pairwise((0, *cuts, n))]

    cuts = min(itertools.combinations(range(1, n), p - 1), key=lambda cuts: sum(sum(part) ** 2 for part in parts(cuts)))
    return [len(part) for part in parts(cuts)]
