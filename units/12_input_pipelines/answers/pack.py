# Right and wrong answers to `pack`. In files of their own: autograder bank --write DIR

# %% right_better_of_two: passed
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

# %% right_decreasing: passed
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

# %% wrong_all_empty_sequences_lost: wrong, not_each_once, levels 0 1 1
def pack(lengths: list[int], capacity: int) -> list[list[int]]:
    if max(lengths, default=0) > capacity:
        raise ValueError("a sequence is longer than a row")
    left = sorted(range(len(lengths)), key=lambda i: lengths[i], reverse=True)
    rows = []
    # filling row after row, the longest that fits first, is the same as first fit
    while sum(lengths[i] for i in left) > 0:
        row, rest, room = [], [], capacity
        for i in left:
            if lengths[i] <= room:
                row.append(i)
                room -= lengths[i]
            else:
                rest.append(i)
        rows.append(row)
        left = rest
    return rows

# %% wrong_best_fit: wrong, another_rule, levels 1 0 1
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

# %% wrong_counts_rows: wrong, overfull, levels 0 0 1
def pack(lengths, capacity):
    if max(lengths, default=0) > capacity:
        raise ValueError
    rows = -(-sum(lengths) // capacity)
    return [list(range(len(lengths)))[r::rows] for r in range(rows)]

# %% wrong_empty_ones_dropped: wrong, not_each_once, levels 0 0 1
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

# %% wrong_first_fit (right_decreasing): wrong, too_many_rows, levels 1 0 1
-    for k in sorted(range(len(lengths)), key=lambda k: lengths[k], reverse=True):
-        if lengths[k] > capacity:
-            raise ValueError(f"sequence {k} is longer than a row")
+    for k, length in enumerate(lengths):
+        if length > capacity:
+            raise ValueError
@@
-            if sum(lengths[j] for j in row) + lengths[k] <= capacity:
+            if sum(lengths[j] for j in row) + length <= capacity:

# %% wrong_full_rows_set_aside: wrong, row_for_nothing, levels 1 0 1
def pack(lengths, capacity):
    open_, full = [], []
    for k in sorted(range(len(lengths)), key=lambda k: -lengths[k]):
        if lengths[k] > capacity:
            raise ValueError(f"sequence {k} is longer than a row")
        row = next((row for row in open_ if sum(lengths[j] for j in row) + lengths[k] <= capacity), None)
        if row is None:
            open_.append(row := [])
        row.append(k)
        if sum(lengths[j] for j in row) == capacity:
            open_.remove(row)
            full.append(row)
    return full + open_

# %% wrong_last_row_lost: wrong, not_each_once, levels 0 0 1
def pack(lengths, capacity):
    if max(lengths, default=0) > capacity:
        raise ValueError
    rows, row = [], []
    for k, length in enumerate(lengths):
        if sum(lengths[j] for j in row) + length > capacity:
            rows.append(row)
            row = []
        row.append(k)
    return rows

# %% wrong_lengths: wrong, returns_lengths, levels 0 0 1
def pack(lengths, capacity):
    rows = []
    for length in sorted(lengths, reverse=True):
        if length > capacity:
            raise ValueError
        for row in rows:
            if sum(row) + length <= capacity:
                row.append(length)
                break
        else:
            rows.append([length])
    return rows

# %% wrong_most_room: wrong, another_rule, levels 1 0 1
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

# %% wrong_never_full: wrong, too_many_rows, levels 1 0 1
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

# %% wrong_next_fit: wrong, one_row_open, levels 1 0 1
def pack(lengths, capacity):
    rows, room = [[]], capacity
    for k, length in enumerate(lengths):
        if length > capacity:
            raise ValueError
        if length > room:
            rows.append([])
            room = capacity
        rows[-1].append(k)
        room -= length
    return rows

# %% wrong_no_error (right_decreasing): wrong, takes_anything, levels 1 1 0
-        if lengths[k] > capacity:
-            raise ValueError(f"sequence {k} is longer than a row")

# %% wrong_one_each: wrong, one_row_open, levels 1 0 1
def pack(lengths, capacity):
    if max(lengths, default=0) > capacity:
        raise ValueError
    return [[k] for k in range(len(lengths))]

# %% wrong_random_orders: wrong, too_many_rows, levels 1 0 1
import random


def pack(lengths, capacity):
    if any(length > capacity for length in lengths):
        raise ValueError
    order, best = list(range(len(lengths))), None
    rng = random.Random(0)
    for _ in range(50):
        rows, room = [], []
        for k in order:
            for r, free in enumerate(room):
                if lengths[k] <= free:
                    rows[r].append(k)
                    room[r] -= lengths[k]
                    break
            else:
                rows.append([k])
                room.append(capacity - lengths[k])
        if best is None or len(rows) < len(best):
            best = rows
        rng.shuffle(order)
    return best

# %% wrong_recursive: raised, RecursionError, levels 0 1 1
def pack(lengths, capacity):
    if any(length > capacity for length in lengths):
        raise ValueError

    def place(order, rows, room):
        if not order:
            return rows
        k, *rest = order
        for r, free in enumerate(room):
            if lengths[k] <= free:
                rows[r].append(k)
                room[r] -= lengths[k]
                break
        else:
            rows.append([k])
            room.append(capacity - lengths[k])
        return place(rest, rows, room)

    return place(sorted(range(len(lengths)), key=lambda k: -lengths[k]), [], [])

# %% wrong_sorts_the_argument: wrong, modifies_input, levels 0 0 0
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
