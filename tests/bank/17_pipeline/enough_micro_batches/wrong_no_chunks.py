# verdict: wrong, diagnosis: forgets_the_chunks
import math


def enough_micro_batches(p, share, v=1):
    return (
        max(1, math.ceil(round((p - 1) * (1 - share) / share, 9)))
        if v == 1
        else -(-math.ceil((p - 1) * (1 - share) / share) // p) * p
    )
