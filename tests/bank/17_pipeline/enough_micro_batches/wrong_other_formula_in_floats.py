# verdict: wrong, diagnosis: one_too_many
import math


def enough_micro_batches(p, share, v=1):
    m = max(1, math.ceil((p - 1) * (1 / share - 1) / v))
    return m if v == 1 else math.ceil(m / p) * p
