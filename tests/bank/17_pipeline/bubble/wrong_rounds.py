# verdict: wrong, diagnosis: unrecognised
def bubble(p, m, v=1):
    return round((p - 1) / (v * m + p - 1), 2)
