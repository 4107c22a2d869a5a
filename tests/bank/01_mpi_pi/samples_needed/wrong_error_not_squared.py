# verdict: wrong, diagnosis: error_not_squared
import math


def samples_needed(error):
    return math.ceil(math.pi * (4 - math.pi) / error)
