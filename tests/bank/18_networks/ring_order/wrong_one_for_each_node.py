# verdict: wrong, diagnosis: not_every_rank_once
def ring_order(node_of):
    return [node_of.index(node) for node in sorted(set(node_of))]
