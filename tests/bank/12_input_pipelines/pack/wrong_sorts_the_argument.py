# verdict: wrong, diagnosis: modifies_input
def pack(lengths, capacity):
    lengths.sort(reverse=True)
    if lengths and lengths[0] > capacity:
        raise ValueError("too long")
    rows, room = [], []
    for k, length in enumerate(lengths):
        r = next((r for r, free in enumerate(room) if free >= length), len(rows))
        if r == len(rows):
            rows.append([])
            room.append(capacity)
        rows[r].append(k)
        room[r] -= length
    return rows
