# verdict: passed
# differs: It counts what comes into each node, not what goes out: along a closed ring the two are the same.


def network_bytes(node_of, nbytes, two_levels):
    two = two_levels
    p, N = len(node_of), len(set(node_of))
    if two:
        return [2 * (N - 1) / N * nbytes] * N
    out = [0.0] * N
    for r in range(p):
        d = node_of[(r + 1) % p]
        if node_of[r] != d:
            out[d] += 2 * (p - 1) * nbytes / p
    return out
