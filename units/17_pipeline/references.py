"""Right answers that stand in where a later exercise uses one that a student has not solved."""


def bubble(p, m, v=1):
    return (p - 1) / (v * m + p - 1)


def order_1f1b(rank, p, m):
    first = min(m, p - 1 - rank)
    order = [("F", k) for k in range(first)]
    for k in range(m):
        if first + k < m:
            order.append(("F", first + k))
        order.append(("B", k))
    return order
