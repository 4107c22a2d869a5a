# verdict: passed
import math


def young_interval(save, mtbf, machines):
    return math.sqrt(2 * save * mtbf / machines)
