# verdict: passed
def pack(lengths, capacity):
    rows = []
    for k in sorted(range(len(lengths)), key=lambda k: lengths[k], reverse=True):
        if lengths[k] > capacity:
            raise ValueError(f"sequence {k} is longer than a row")
        for row in rows:
            if sum(lengths[j] for j in row) + lengths[k] <= capacity:
                row.append(k)
                break
        else:
            rows.append([k])
    return rows
