# verdict: wrong, diagnosis: unfair
def fair_share(n, rank, world_size):
    start, stop, first, last = 0, n, 0, world_size
    while last - first > 1:
        middle, cut = (first + last) // 2, (start + stop) // 2
        if rank < middle:
            stop, last = cut, middle
        else:
            start, first = cut, middle
    return start, stop
