# verdict: passed
# differs: The order of 1F1B as it is: it passes, and the slow rank still waits at times.
def slow_stage():
    orders = []
    for first in (3, 2, 1, 0):
        order = [f"F{k}" for k in range(first)]
        for k in range(8):
            if first + k < 8:
                order.append(f"F{first + k}")
            order.append(f"B{k}")
        orders.append(" ".join(order))
    return orders
