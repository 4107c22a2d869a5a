# verdict: wrong, diagnosis: not_each_once
def pack(lengths, capacity):
    if max(lengths, default=0) > capacity:
        raise ValueError
    rows, row = [], []
    for k, length in enumerate(lengths):
        if sum(lengths[j] for j in row) + length > capacity:
            rows.append(row)
            row = []
        row.append(k)
    return rows
