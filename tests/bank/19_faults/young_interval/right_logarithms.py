# verdict: passed
import math


def young_interval(save, mtbf, machines):
    return math.exp(0.5 * (math.log(2) + math.log(save) + math.log(mtbf) - math.log(machines)))
