# verdict: wrong, diagnosis: no_actions
def order_1f1b(rank, p, m):
    warm = min(m, p - 1 - rank)
    order = [f"F{k}" for k in range(warm)]
    for k in range(m):
        order += [f"F{warm + k}"] * (warm + k < m) + [f"B{k}"]
    return order
