# verdict: wrong, diagnosis: no_steps
import math


def checkpoint_every(step, save, mtbf, ranks):
    return math.sqrt(2 * save * mtbf / ranks) / step
