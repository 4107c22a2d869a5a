# verdict: passed

from fractions import Fraction as F


def network_bytes(node_of, nbytes, two_levels):
    two = two_levels
    p = len(node_of)
    nodes = sorted(set(node_of))
    N = len(nodes)
    if two:
        return [float(F(2 * (N - 1), N) * F(nbytes)) for _ in nodes]
    return [
        float(sum(F(2 * (p - 1), p) * F(nbytes) for r in range(p) if node_of[r] == k and node_of[r - p + 1] != k)) for k in nodes
    ]
