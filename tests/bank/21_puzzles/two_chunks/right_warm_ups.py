# verdict: passed
# differs: Megatron's order with fewer forward passes ahead, so that eight are alive: it passes, and there is room below it.
def two_chunks():
    places = [(group + k, j) for group in (0, 4) for j in (0, 1) for k in range(4)]
    forward = [f"F{k}.{j}" for k, j in places]
    backward = [f"B{k}.{1 - j}" for k, j in places]
    orders = []
    for first in (7, 6, 5, 4):
        order = forward[:first]
        for k in range(16 - first):
            order += [forward[first + k], backward[k]]
        orders.append(" ".join(order + backward[16 - first :]))
    return orders
