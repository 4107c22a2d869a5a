# verdict: wrong, diagnosis: one_too_many
import math


def enough_micro_batches(p, share, v=1):
    step = p if v > 1 else 1
    return max(1, math.ceil((p - 1) * (1 - share) / share / v / step)) * step
