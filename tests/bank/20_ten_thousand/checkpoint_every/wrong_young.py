# verdict: wrong, diagnosis: to_first_order
import math


def checkpoint_every(step, save, mtbf, ranks):
    return max(1, round(math.sqrt(2 * save * mtbf / ranks) / step))
