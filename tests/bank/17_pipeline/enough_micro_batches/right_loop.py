# verdict: passed
# differs: It tries one number after the other, in steps of p where there are chunks: slow, and sure.
def enough_micro_batches(p, share, v=1):
    step = p if v > 1 else 1
    m = step
    while (p - 1) / (v * m + p - 1) > share:
        m += step
    return m
