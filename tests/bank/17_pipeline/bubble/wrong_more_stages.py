# verdict: wrong, diagnosis: longer_with_chunks
def bubble(p, m, v=1):
    return (v * p - 1) / (m + v * p - 1)
