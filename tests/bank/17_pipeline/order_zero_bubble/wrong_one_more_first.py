# verdict: wrong, diagnosis: holds_too_many
def order_zero_bubble(rank, p, m):
    warm = min(m, p - rank)
    order = [("F", k) for k in range(warm)]
    for k in range(m):
        if warm + k < m:
            order.append(("F", warm + k))
        order.append(("B", k))
        if k >= rank:
            order.append(("W", k - rank))
    return order + [("W", k) for k in range(max(0, m - rank), m)]
