# verdict: wrong, diagnosis: too_many_rows
def pack(lengths, capacity):
    rows = []
    for k, length in enumerate(lengths):
        if length > capacity:
            raise ValueError
        for row in rows:
            if sum(lengths[j] for j in row) + length <= capacity:
                row.append(k)
                break
        else:
            rows.append([k])
    return rows
