# verdict: wrong, diagnosis: refuses_what_can_be
import math


def all_reduce_seconds(algorithm, nbytes, nodes, per_node, inside, between):
    p, g = nodes * per_node, per_node
    (a, b), (A, B) = inside, between
    if algorithm not in ("ring", "doubling", "halving_doubling", "hierarchical"):
        raise ValueError(algorithm)
    if algorithm in ("doubling", "halving_doubling") and (p < 2 or p & (p - 1)):
        raise ValueError(p)
    n = nbytes
    if algorithm == "ring":
        if nodes == 1:
            return 2 * (p - 1) * (a + n / p * b)
        one = A + n / p * B
        if g > 1:
            one = max(one, a + n / p * b)
        return 2 * (p - 1) * one
    if algorithm == "hierarchical":
        return 2 * (g - 1) * (a + n / g * b) + 2 * (nodes - 1) * (A + g * n / p * B)
    total, d = 0.0, 1
    while d < p:
        size = n if algorithm == "doubling" else n * d / p
        t = a + size * b if d < g else A + g * size * B
        total += t if algorithm == "doubling" else 2 * t
        d *= 2
    return total
