# verdict: wrong, diagnosis: unrecognised
import math


def young_interval(save, mtbf, machines):
    return max(save, math.sqrt(2 * save * mtbf / machines))
