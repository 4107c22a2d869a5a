# verdict: wrong, diagnosis: the_busy_share
def bubble(p, m, v=1):
    return v * m / (v * m + p - 1)
