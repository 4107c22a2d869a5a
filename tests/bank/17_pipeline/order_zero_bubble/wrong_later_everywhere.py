# verdict: wrong, diagnosis: waits_too_long
def order_zero_bubble(rank, p, m):
    warm = min(m, p - 1 - rank)
    order = [("F", k) for k in range(warm)]
    for k in range(m):
        if warm + k < m:
            order.append(("F", warm + k))
        order.append(("B", k))
        if k >= (p - 1):
            order.append(("W", k - (p - 1)))
    return order + [("W", k) for k in range(max(0, m - (p - 1)), m)]
