# verdict: wrong, diagnosis: takes_anything
def pack(lengths, capacity):
    rows = []
    for k in sorted(range(len(lengths)), key=lambda k: lengths[k], reverse=True):
        for row in rows:
            if sum(lengths[j] for j in row) + lengths[k] <= capacity:
                row.append(k)
                break
        else:
            rows.append([k])
    return rows
