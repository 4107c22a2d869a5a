# verdict: wrong, diagnosis: not_every_rank_once
def ring_order(node_of):
    order = sorted(range(len(node_of)), key=lambda r: node_of[r])
    return order + order[:1]
