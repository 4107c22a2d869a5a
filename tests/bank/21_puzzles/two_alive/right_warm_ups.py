# verdict: passed
# differs: Each rank begins with at most one forward pass ahead, then works in turn: it passes, and there is room below it.
def two_alive():
    orders = []
    for first in (1, 1, 0, 0):
        order = [f"F{k}" for k in range(first)]
        for k in range(8):
            if first + k < 8:
                order.append(f"F{first + k}")
            order.append(f"B{k}")
        orders.append(" ".join(order))
    return orders
