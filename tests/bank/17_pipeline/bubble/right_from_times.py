# verdict: passed
def bubble(p, m, v=1):
    forward, backward = 1 / v, 2 / v
    work = m * v * (forward + backward)
    idle = (p - 1) * (forward + backward)
    return 1 - work / (work + idle)
