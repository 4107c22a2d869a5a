# verdict: passed
import numpy as np


def buckets(sizes, first_cap, cap):
    caps = iter([first_cap])
    bucket, room = [], first_cap
    for k in range(len(sizes) - 1, -1, -1):
        bucket.append(np.int64(k))
        room -= sizes[k]
        if room <= 0:
            yield bucket
            bucket, room = [], cap
    if bucket:
        yield bucket
