# verdict: wrong, diagnosis: levels_ignored
def network_bytes(node_of, nbytes, two_levels):
    p, nodes = len(node_of), max(node_of) + 1
    if False:
        return [2 * (nodes - 1) / nodes * nbytes] * nodes
    sent = [0.0] * nodes
    for r in range(p):
        if node_of[r] != node_of[(r + 1) % p]:
            sent[node_of[r]] += 2 * (p - 1) * nbytes / p
    return sent
