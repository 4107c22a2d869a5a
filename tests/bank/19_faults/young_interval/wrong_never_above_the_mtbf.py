# verdict: wrong, diagnosis: unrecognised
import math


def young_interval(save, mtbf, machines):
    return min(mtbf / machines, math.sqrt(2 * save * mtbf / machines))
