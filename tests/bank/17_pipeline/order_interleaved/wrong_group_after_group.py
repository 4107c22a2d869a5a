# verdict: wrong, diagnosis: waits_too_long
def order_interleaved(rank, p, m, v):
    if m % p:
        raise ValueError("no")
    order = []
    for group in range(0, m, p):
        order += [("F", k, j) for j in range(v) for k in range(group, group + p)]
        order += [("B", k, j) for j in reversed(range(v)) for k in range(group, group + p)]
    return order
