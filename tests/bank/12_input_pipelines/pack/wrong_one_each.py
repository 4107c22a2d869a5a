# verdict: wrong, diagnosis: one_row_open
def pack(lengths, capacity):
    if max(lengths, default=0) > capacity:
        raise ValueError
    return [[k] for k in range(len(lengths))]
