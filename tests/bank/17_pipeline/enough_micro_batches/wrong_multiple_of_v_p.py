# verdict: wrong, diagnosis: multiple_of_v_p
def enough_micro_batches(p, share, v=1):
    step = 1 if v == 1 else v * p
    m = step
    while (p - 1) / (v * m + p - 1) > share:
        m += step
    return m
