# verdict: wrong, diagnosis: two_standard_errors
import math


def samples_needed(error):
    return math.ceil(1.96**2 * math.pi * (4 - math.pi) / error**2)
