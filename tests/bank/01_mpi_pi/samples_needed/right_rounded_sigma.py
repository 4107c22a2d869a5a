# verdict: passed
def samples_needed(error):
    n = 1
    while 1.642 / n**0.5 > error:
        n *= 2
    low, high = n // 2, n
    while high - low > 1:
        middle = (low + high) // 2
        if 1.642 / middle**0.5 > error:
            low = middle
        else:
            high = middle
    return high
