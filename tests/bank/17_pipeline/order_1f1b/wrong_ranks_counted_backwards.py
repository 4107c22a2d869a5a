# verdict: wrong, diagnosis: stands_still
def order_1f1b(rank, p, m):
    warm = min(m, rank)
    order = [("B", k) for k in range(0)] + [("F", k) for k in range(warm)]
    for k in range(m):
        order.append(("B", k))
        if warm + k < m:
            order.append(("F", warm + k))
    return order
