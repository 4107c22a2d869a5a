# verdict: wrong, diagnosis: forgets_the_chunks
def bubble(p, m, v=1):
    return (p - 1) / (m + p - 1)
