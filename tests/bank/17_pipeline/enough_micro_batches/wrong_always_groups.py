# verdict: wrong, diagnosis: multiple_of_p_anyway
def enough_micro_batches(p, share, v=1):
    m = p
    while (p - 1) / (v * m + p - 1) > share:
        m += p
    return m
