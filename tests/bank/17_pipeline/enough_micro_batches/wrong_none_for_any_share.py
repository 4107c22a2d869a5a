# verdict: wrong, diagnosis: none_at_all
import math


def enough_micro_batches(p, share, v=1):
    if p == 1:
        return 1
    m = math.ceil(round((p - 1) * (1 - share) / (share * v), 9))
    return -(-m // p) * p if v > 1 else m
