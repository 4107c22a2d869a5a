# verdict: wrong, diagnosis: relative_error
import math


def samples_needed(error):
    p = math.pi / 4
    return math.ceil((1 - p) / p / error**2)
