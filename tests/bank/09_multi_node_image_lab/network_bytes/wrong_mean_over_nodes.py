# verdict: wrong, diagnosis: average_node


def network_bytes(node_of, nbytes, two_levels):
    two = two_levels
    p, N = len(node_of), len(set(node_of))
    if two:
        return [2 * (N - 1) / N * nbytes] * N
    k = sum(node_of[r] != node_of[(r + 1) % p] for r in range(p))
    return [k / N * 2 * (p - 1) * nbytes / p] * N
