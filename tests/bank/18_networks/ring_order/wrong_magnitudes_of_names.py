# verdict: wrong, diagnosis: crosses_too_often
def ring_order(node_of):
    return sorted((r for r in range(len(node_of))), key=lambda r: abs(node_of[r]))
