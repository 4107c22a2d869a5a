# verdict: wrong, diagnosis: percent
def bubble(p, m, v=1):
    return 100 * (p - 1) / (v * m + p - 1)
