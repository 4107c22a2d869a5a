# verdict: passed
import math


def checkpoint_every(step, save, mtbf, ranks):
    failure = mtbf / ranks
    x = save / (2 * failure)
    useful = math.sqrt(2 * save * failure) * (1 + math.sqrt(x) / 3 + x / 9) - save
    return max(1, round(useful / step))
