# verdict: wrong, diagnosis: one_at_a_time
def bubble(p, m, v=1):
    return (p - 1) / p
