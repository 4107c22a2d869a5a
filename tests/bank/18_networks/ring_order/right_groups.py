# verdict: passed
def ring_order(node_of):
    groups = {}
    for rank, node in enumerate(node_of):
        groups.setdefault(node, []).append(rank)
    return [rank for ranks in groups.values() for rank in reversed(ranks)]
