# verdict: wrong, diagnosis: no_actions
def order_1f1b(rank, p, m):
    warm = min(m, p - 1 - rank)
    order = [("F", k) for k in range(1, warm + 1)]
    for k in range(1, m + 1):
        if warm + k <= m:
            order.append(("F", warm + k))
        order.append(("B", k))
    return order
