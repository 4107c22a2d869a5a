# verdict: wrong, diagnosis: forgets_the_two
import math


def young_interval(save, mtbf, machines):
    return math.sqrt(save * mtbf / machines)
