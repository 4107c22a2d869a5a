# verdict: wrong, diagnosis: forgets_4
import math


def samples_needed(error):
    p = math.pi / 4
    return math.ceil(p * (1 - p) / error**2)
