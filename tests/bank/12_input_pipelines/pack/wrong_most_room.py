# verdict: wrong, diagnosis: another_rule
def pack(lengths, capacity):
    if max(lengths, default=0) > capacity:
        raise ValueError("too long")
    rows, room = [], []
    for k in sorted(range(len(lengths)), key=lambda k: lengths[k], reverse=True):
        r = max(range(len(rows)), key=lambda r: room[r], default=None)
        if r is None or room[r] < lengths[k]:
            r = len(rows)
            rows.append([])
            room.append(capacity)
        rows[r].append(k)
        room[r] -= lengths[k]
    return rows
