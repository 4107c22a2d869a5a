# verdict: passed
# differs: Three counters decide: forward while there is room, backward when it is due, and weights in what is left.
def order_zero_bubble(rank, p, m):
    order = []
    f = b = w = 0
    while w < m:
        if f < m and f - b < p - rank and f - w < p:
            order.append(("F", f))
            f += 1
        elif b < f and (f == m or f - b == p - rank) and b - w < rank + 1:
            order.append(("B", b))
            b += 1
        else:
            order.append(("W", w))
            w += 1
    return order
