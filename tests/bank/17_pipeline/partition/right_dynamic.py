# verdict: passed
# differs: The best cut of the first layers into fewer stages is worked out once and used again: dynamic programming.
import functools


def partition(costs, p):
    if p > len(costs):
        raise ValueError(f"{p} stages, {len(costs)} layers")

    @functools.cache
    def best(n, q):
        if q == 1:
            return sum(costs[:n]), (n,)
        options = []
        for k in range(q - 1, n):
            slowest, sizes = best(k, q - 1)
            options.append((max(slowest, sum(costs[k:n])), (*sizes, n - k)))
        return min(options)

    return list(best(len(costs), p)[1])
