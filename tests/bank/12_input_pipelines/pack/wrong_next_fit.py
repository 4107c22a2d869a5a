# verdict: wrong, diagnosis: one_row_open
def pack(lengths, capacity):
    rows, room = [], 0
    for k, length in enumerate(lengths):
        if length > capacity:
            raise ValueError
        if length > room:
            rows.append([])
            room = capacity
        rows[-1].append(k)
        room -= length
    return rows
