# verdict: passed
def bubble(p, m, v=1):
    return (p - 1) / (v * m + p - 1)
