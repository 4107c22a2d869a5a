# verdict: passed
# differs: It packs twice, once into the first row that has room and once into the fullest, and keeps what took fewer rows.
def pack(lengths, capacity):
    if any(length > capacity for length in lengths):
        raise ValueError("a sequence is longer than a row")
    order = sorted(range(len(lengths)), key=lambda k: (-lengths[k], k))

    def packed(fullest):
        rows, room = [], []
        for k in order:
            fitting = [r for r, free in enumerate(room) if free >= lengths[k]]
            if not fitting:
                rows.append([])
                room.append(capacity)
                fitting = [len(rows) - 1]
            r = min(fitting, key=room.__getitem__) if fullest else fitting[0]
            rows[r].append(k)
            room[r] -= lengths[k]
        return rows

    return min(packed(False), packed(True), key=len)
