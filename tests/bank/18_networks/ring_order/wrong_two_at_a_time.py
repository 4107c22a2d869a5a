# verdict: wrong, diagnosis: crosses_too_often
def ring_order(node_of):
    groups = {}
    for rank, node in enumerate(node_of):
        groups.setdefault(node, []).append(rank)
    order = []
    while any(groups.values()):
        for node, ranks in groups.items():
            order += ranks[:2]
            groups[node] = ranks[2:]
    return order
