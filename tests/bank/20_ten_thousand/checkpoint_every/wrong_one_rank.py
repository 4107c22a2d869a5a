# verdict: wrong, diagnosis: of_one_rank
import math


def checkpoint_every(step, save, mtbf, ranks):
    return max(1, round(math.sqrt(2 * save * mtbf) / step))
