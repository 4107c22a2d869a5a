# verdict: wrong, diagnosis: ValueError
def order_interleaved(rank, p, m, v):
    if p < 2 or m % p:
        raise ValueError("groups of p micro-batches, and a pipeline of at least two ranks")
    total = m * v
    warm = min(total, 2 * (p - 1 - rank) + (v - 1) * p)

    def place(i):
        return i // (p * v) * p + i % p, i // p % v

    forward = [("F", *place(i)) for i in range(total)]
    backward = [("B", place(i)[0], v - 1 - place(i)[1]) for i in range(total)]
    order = forward[:warm]
    for k in range(total - warm):
        order += [forward[warm + k], backward[k]]
    return order + backward[total - warm :]
