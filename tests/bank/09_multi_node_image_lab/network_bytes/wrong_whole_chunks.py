# verdict: wrong, diagnosis: rounded


def network_bytes(node_of, nbytes, two_levels):
    two = two_levels
    p, N = len(node_of), len(set(node_of))
    if two:
        return [2 * (N - 1) * (nbytes // N)] * N
    out = [0.0] * N
    for r in range(p):
        if node_of[r] != node_of[(r + 1) % p]:
            out[node_of[r]] += 2 * (p - 1) * (nbytes // p)
    return out
