# verdict: wrong, diagnosis: more_machines_fail_less
import math


def young_interval(save, mtbf, machines):
    return math.sqrt(2 * save * mtbf * machines)
