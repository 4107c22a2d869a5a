# verdict: passed
def order_1f1b(rank, p, m):
    order, forward, backward = [], 0, 0
    while backward < m:
        if forward < m and forward - backward < p - rank:
            order.append(("F", forward))
            forward += 1
        else:
            order.append(("B", backward))
            backward += 1
    return order
