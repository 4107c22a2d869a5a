# verdict: raised, diagnosis: TypeError
def bubble(p, m, v):
    return (p - 1) / (v * m + p - 1)
