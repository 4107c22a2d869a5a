# verdict: wrong, diagnosis: divides_the_interval
import math


def young_interval(save, mtbf, machines):
    return math.sqrt(2 * save * mtbf) / machines
