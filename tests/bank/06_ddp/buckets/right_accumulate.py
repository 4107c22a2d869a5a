# verdict: passed
import itertools


def buckets(sizes, first_cap, cap):
    ks = list(range(len(sizes)))[::-1]
    out, start, limit = [], 0, first_cap
    while start < len(ks):
        sums = list(itertools.accumulate(sizes[k] for k in ks[start:]))
        stop = next((i + 1 for i, s in enumerate(sums) if s >= limit), len(sums))
        out.append(ks[start : start + stop])
        start, limit = start + stop, cap
    return out
