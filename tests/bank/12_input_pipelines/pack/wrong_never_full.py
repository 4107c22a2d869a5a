# verdict: wrong, diagnosis: too_many_rows
def pack(lengths, capacity):
    if any(length > capacity for length in lengths):
        raise ValueError("too long")
    rows, room = [], []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        for k, free in enumerate(room):
            if free > lengths[i]:
                rows[k].append(i)
                room[k] -= lengths[i]
                break
        else:
            rows.append([i])
            room.append(capacity - lengths[i])
    return rows
