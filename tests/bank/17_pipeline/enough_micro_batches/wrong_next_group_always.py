# verdict: wrong, diagnosis: one_group_too_many
def enough_micro_batches(p, share, v=1):
    m = 1
    while bubble(p, m, v) > share:
        m += 1
    return m if v == 1 else m + (p - m % p)
