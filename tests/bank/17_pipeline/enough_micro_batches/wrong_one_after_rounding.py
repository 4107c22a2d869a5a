# verdict: wrong, diagnosis: no_multiple_of_p
import math


def enough_micro_batches(p, share, v=1):
    m = math.ceil(round((p - 1) * (1 - share) / (share * v), 9))
    if v > 1:
        m = -(-m // p) * p
    return max(m, 1)
