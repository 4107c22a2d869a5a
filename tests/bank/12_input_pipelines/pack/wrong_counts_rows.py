# verdict: wrong, diagnosis: overfull
def pack(lengths, capacity):
    if max(lengths, default=0) > capacity:
        raise ValueError
    rows = -(-sum(lengths) // capacity)
    return [list(range(len(lengths)))[r::rows] for r in range(rows)]
