# verdict: wrong, diagnosis: no_actions
def order_interleaved(rank, p, m, v):
    if m % p:
        raise ValueError("no")
    warm = min(m, p - 1 - rank)
    order = [("F", k) for k in range(warm)]
    for k in range(m):
        order += [("F", warm + k)] * (warm + k < m) + [("B", k)]
    return order
