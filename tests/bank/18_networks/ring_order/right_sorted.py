# verdict: passed
def ring_order(node_of):
    return sorted(range(len(node_of)), key=lambda r: node_of[r])
