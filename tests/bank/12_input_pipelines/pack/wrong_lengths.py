# verdict: wrong, diagnosis: returns_lengths
def pack(lengths, capacity):
    rows = []
    for length in sorted(lengths, reverse=True):
        if length > capacity:
            raise ValueError
        for row in rows:
            if sum(row) + length <= capacity:
                row.append(length)
                break
        else:
            rows.append([length])
    return rows
