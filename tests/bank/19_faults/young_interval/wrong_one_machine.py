# verdict: wrong, diagnosis: of_one_machine
import math


def young_interval(save, mtbf, machines):
    return math.sqrt(2 * save * mtbf)
