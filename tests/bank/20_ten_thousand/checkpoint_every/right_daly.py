# verdict: passed
# differs: Daly's formula, which corrects Young's for saves that take their time, in place of trying numbers.
import math


def checkpoint_every(step, save, mtbf, ranks):
    failure = mtbf / ranks
    x = save / (2 * failure)
    useful = math.sqrt(2 * save * failure) * (1 + math.sqrt(x) / 3 + x / 9) - save
    return max(1, round(useful / step))
