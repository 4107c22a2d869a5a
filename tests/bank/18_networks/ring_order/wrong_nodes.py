# verdict: wrong, diagnosis: returns_nodes
def ring_order(node_of):
    return sorted(node_of)
