# verdict: wrong, diagnosis: not_every_rank_once
def ring_order(node_of):
    order = []
    for node in range(max(node_of) + 1):
        for r in range(len(node_of)):
            if node_of[r] == node:
                order.append(r)
    return order
