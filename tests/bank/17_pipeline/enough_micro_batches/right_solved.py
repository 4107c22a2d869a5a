# verdict: passed
import math


def enough_micro_batches(p, share, v=1):
    m = max(1, math.ceil(round((p - 1) * (1 - share) / (share * v), 9)))
    return -(-m // p) * p if v > 1 else m
