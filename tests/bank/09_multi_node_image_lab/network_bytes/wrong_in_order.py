# verdict: wrong, diagnosis: in_order_assumed
def network_bytes(node_of, nbytes, two_levels):
    p, nodes = len(node_of), max(node_of) + 1
    if nodes == 1:
        return [0.0]
    return [(2 * (nodes - 1) / nodes if two_levels else 2 * (p - 1) / p) * nbytes] * nodes
