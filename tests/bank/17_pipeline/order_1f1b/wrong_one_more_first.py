# verdict: wrong, diagnosis: holds_too_many
def order_1f1b(rank, p, m):
    warm = min(m, p - rank)
    order = [("F", k) for k in range(warm)]
    for k in range(m):
        if warm + k < m:
            order.append(("F", warm + k))
        order.append(("B", k))
    return order
