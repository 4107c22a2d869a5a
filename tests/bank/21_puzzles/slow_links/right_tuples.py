# verdict: passed
def slow_links():
    """As unit 17 writes orders: a list of (what, micro-batch) for each rank."""
    orders = []
    for first in (5, 4, 2, 0):
        order = [("F", k) for k in range(first)]
        for k in range(8):
            order += [("F", first + k)] * (first + k < 8) + [("B", k)]
        orders.append(order)
    return orders
