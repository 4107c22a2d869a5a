# verdict: passed
def order_interleaved(rank, p, m, v):
    if m % p != 0:
        raise ValueError("groups of p micro-batches")
    forward, backward = [], []
    for group in range(0, m, p):
        for j in range(v):
            forward += [("F", k, j) for k in range(group, group + p)]
            backward += [("B", k, v - 1 - j) for k in range(group, group + p)]
    limit, order, alive = 2 * (p - 1 - rank) + (v - 1) * p + 1, [], 0
    forward, backward = iter(forward), iter(backward)
    todo = m * v
    for _ in range(2 * m * v):
        if todo and alive < limit:
            order.append(next(forward))
            todo -= 1
            alive += 1
        else:
            order.append(next(backward))
            alive -= 1
    return order
