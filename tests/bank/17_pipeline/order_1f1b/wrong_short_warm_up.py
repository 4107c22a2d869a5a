# verdict: wrong, diagnosis: waits_too_long
def order_1f1b(rank, p, m):
    warm = min(m, (p - 1 - rank + 1) // 2)
    order = [("F", k) for k in range(warm)]
    for k in range(m):
        if warm + k < m:
            order.append(("F", warm + k))
        order.append(("B", k))
    return order
