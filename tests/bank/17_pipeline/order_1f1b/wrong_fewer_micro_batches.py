# verdict: wrong, diagnosis: no_actions
def order_1f1b(rank, p, m):
    warm = p - 1 - rank
    order = [("F", k) for k in range(warm)]
    for k in range(m - warm):
        order += [("F", warm + k), ("B", k)]
    return order + [("B", k) for k in range(m - warm, m)]
