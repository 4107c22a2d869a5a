# verdict: wrong, diagnosis: forgets_the_chunks
def enough_micro_batches(p, share, v=1):
    step = p if v > 1 else 1
    m = step
    while (p - 1) / (m + p - 1) > share:
        m += step
    return m
