# verdict: wrong, diagnosis: stands_still
def order_interleaved(rank, p, m, v):
    if m % p:
        raise ValueError("no")
    forward = [("F", k, j) for k in range(m) for j in range(v)]
    backward = [("B", k, j) for k in range(m) for j in reversed(range(v))]
    first = 2 * (p - 1 - rank) + (v - 1) * p
    order = forward[:first]
    for k in range(m * v):
        order += forward[first + k : first + k + 1] + [backward[k]]
    return order
