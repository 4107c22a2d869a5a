# verdict: wrong, diagnosis: share_of_the_work
def bubble(p, m, v=1):
    return (p - 1) / (v * m)
