# verdict: wrong, diagnosis: rounded


def network_bytes(node_of, nbytes, two_levels):
    two = two_levels
    p, N = len(node_of), len(set(node_of))
    if two:
        return [int(2 * (N - 1) / N * nbytes)] * N
    out = [0] * N
    for r in range(p):
        if node_of[r] != node_of[(r + 1) % p]:
            out[node_of[r]] += int(2 * (p - 1) * nbytes / p)
    return out
