# verdict: passed
import itertools


def enough_micro_batches(p, share, v=1):
    return next(m for m in itertools.count(1) if bubble(p, m, v) <= share and (v == 1 or m % p == 0))
