# verdict: passed
# differs: Fewer forward passes before it turns: p - 1 - rank in place of twice as many, which keeps less alive.
def order_interleaved(rank, p, m, v):
    if m % p:
        raise ValueError(f"{p} ranks do not divide {m} micro-batches")
    total = m * v
    warm = min(total, p - 1 - rank + (v - 1) * p)

    def place(i):
        return i // (p * v) * p + i % p, i // p % v

    forward = [("F", *place(i)) for i in range(total)]
    backward = [("B", place(i)[0], v - 1 - place(i)[1]) for i in range(total)]
    order = forward[:warm]
    for k in range(total - warm):
        order += [forward[warm + k], backward[k]]
    return order + backward[total - warm :]
