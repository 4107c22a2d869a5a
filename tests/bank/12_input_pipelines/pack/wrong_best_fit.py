# verdict: wrong, diagnosis: another_rule
import numpy as np


def pack(lengths, capacity):
    if any(length > capacity for length in lengths):
        raise ValueError("too long")
    rows, room = [], []
    for k in np.argsort(lengths, kind="stable")[::-1]:
        fitting = [r for r in range(len(rows)) if room[r] >= lengths[k]]
        if fitting:
            r = min(fitting, key=lambda r: room[r])
        else:
            r = len(rows)
            rows.append([])
            room.append(capacity)
        rows[r].append(int(k))
        room[r] -= lengths[k]
    return rows
