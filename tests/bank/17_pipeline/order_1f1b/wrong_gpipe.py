# verdict: wrong, diagnosis: all_forward_first
def order_1f1b(rank, p, m):
    return [("F", k) for k in range(m)] + [("B", k) for k in range(m)]
