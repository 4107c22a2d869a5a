# verdict: wrong, diagnosis: one_at_a_time
def order_1f1b(rank, p, m):
    return [(what, k) for k in range(m) for what in "FB"]
