# verdict: wrong, diagnosis: one_rank_of_the_node
def network_bytes(node_of, nbytes, two_levels):
    p, nodes = len(node_of), max(node_of) + 1
    g = p // nodes
    if two_levels:
        return [2 * (nodes - 1) / nodes * nbytes / g] * nodes
    sent = [0.0] * nodes
    for r in range(p):
        if node_of[r] != node_of[(r + 1) % p]:
            sent[node_of[r]] += 2 * (p - 1) * nbytes / p
    return sent
