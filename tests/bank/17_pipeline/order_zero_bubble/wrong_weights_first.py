# verdict: wrong, diagnosis: stands_still
def order_zero_bubble(rank, p, m):
    warm = min(m, p - 1 - rank)
    order = [("F", k) for k in range(warm)]
    for k in range(m):
        order += [("F", warm + k)] * (warm + k < m) + [("W", k), ("B", k)]
    return order
