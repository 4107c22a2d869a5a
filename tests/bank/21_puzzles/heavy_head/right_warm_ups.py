# verdict: passed
# differs: A rule for all ranks, one forward pass ahead and then F, B, W in turn: it passes, and there is room below it.
def heavy_head():
    orders = []
    for first in (1, 1, 1, 0):
        order = [f"F{k}" for k in range(first)]
        for k in range(8):
            if first + k < 8:
                order.append(f"F{first + k}")
            order.append(f"B{k}")
            order.append(f"W{k}")
        orders.append(" ".join(order))
    return orders
