# verdict: wrong, diagnosis: crosses_too_often
def ring_order(node_of):
    groups = {}
    for rank, node in enumerate(node_of):
        groups.setdefault(node, []).append(rank)
    order = []
    while any(groups.values()):
        for ranks in groups.values():
            if ranks:
                order.append(ranks.pop(0))
    return order
