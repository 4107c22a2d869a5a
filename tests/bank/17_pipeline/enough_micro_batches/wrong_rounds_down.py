# verdict: wrong, diagnosis: one_too_few
import math


def enough_micro_batches(p, share, v=1):
    return (
        max(1, int((p - 1) * (1 - share) / (share * v) - 1e-9))
        if v == 1
        else -(-math.ceil((p - 1) * (1 - share) / (share * v)) // p) * p
    )
