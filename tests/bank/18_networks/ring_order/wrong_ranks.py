# verdict: wrong, diagnosis: crosses_too_often
def ring_order(node_of):
    return list(range(len(node_of)))
