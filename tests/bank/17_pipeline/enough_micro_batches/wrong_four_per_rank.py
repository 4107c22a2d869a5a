# verdict: wrong, diagnosis: four_per_rank
import math


def enough_micro_batches(p, share, v=1):
    return 4 * p
