# verdict: wrong, diagnosis: none_at_all
import math


def enough_micro_batches(p, share, v=1):
    m = math.ceil(round((p - 1) * (1 / share - 1) / v, 9))
    return m if v == 1 else -(-m // p) * p
