# verdict: passed
# differs: One small function for a step, away or at home, and each algorithm is a sum of such steps.
import math


def all_reduce_seconds(algorithm, nbytes, nodes, per_node, inside, between):
    n, g, p = nodes, per_node, nodes * per_node

    def step(often, away, messages, size):
        alpha, beta = between if away else inside
        return often * (alpha + messages * size * beta)

    if algorithm == "ring":
        return step(2 * p - 2, n > 1, 1, nbytes / p)
    if algorithm == "hierarchical":
        return step(2 * g - 2, False, 1, nbytes / g) + step(2 * n - 2, True, g, nbytes / p)
    powers = math.log2(p)
    if powers != int(powers):
        raise ValueError("a power of two, please")
    away = [2**k >= g for k in range(int(powers))]
    if algorithm == "doubling":
        return sum(step(1, a, g if a else 1, nbytes) for a in away)
    if algorithm == "halving_doubling":
        return sum(step(2, a, g if a else 1, nbytes * 2**k / p) for k, a in enumerate(away))
    raise ValueError(algorithm)
