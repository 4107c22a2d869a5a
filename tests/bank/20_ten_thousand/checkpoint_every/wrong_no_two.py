# verdict: wrong, diagnosis: forgets_the_two
import math


def checkpoint_every(step, save, mtbf, ranks):
    return max(1, round(math.sqrt(save * mtbf / ranks) / step))
