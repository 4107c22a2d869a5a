# verdict: wrong, diagnosis: not_each_once
def pack(lengths, capacity):
    if any(n > capacity for n in lengths):
        raise ValueError("too long")
    rows, room = [], []
    for i in sorted((i for i in range(len(lengths)) if lengths[i]), key=lambda i: -lengths[i]):
        for k, left in enumerate(room):
            if lengths[i] <= left:
                rows[k].append(i)
                room[k] -= lengths[i]
                break
        else:
            rows.append([i])
            room.append(capacity - lengths[i])
    return rows
