# verdict: passed
# differs: It asks how many micro-batches are alive: a forward pass while there is room, else a backward pass.
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
