# verdict: wrong, diagnosis: share_of_the_work
import math


def enough_micro_batches(p, share, v=1):
    return (
        max(1, math.ceil(round((p - 1) / share, 9)))
        if v == 1
        else -(-math.ceil((p - 1) * (1 - share) / (share * v)) // p) * p
    )
