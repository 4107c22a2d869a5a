# verdict: wrong, diagnosis: order_of_appearance


def network_bytes(node_of, nbytes, two_levels):
    two = two_levels
    p = len(node_of)
    names = list(dict.fromkeys(node_of))
    N = len(names)
    if two:
        return [2 * (N - 1) / N * nbytes] * N
    out = dict.fromkeys(names, 0.0)
    for r in range(p):
        if node_of[r] != node_of[(r + 1) % p]:
            out[node_of[r]] += 2 * (p - 1) * nbytes / p
    return list(out.values())
