# verdict: passed
# differs: The order of 1F1B with each W right behind its B: it passes, and fills no bubble with weights yet.
def three_parts():
    orders = []
    for first in (3, 2, 1, 0):
        order = [f"F{k}" for k in range(first)]
        for k in range(8):
            if first + k < 8:
                order.append(f"F{first + k}")
            order.append(f"B{k}")
            order.append(f"W{k}")
        orders.append(" ".join(order))
    return orders
