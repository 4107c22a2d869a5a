# verdict: wrong, diagnosis: unrecognised
import math


def samples_needed(error):
    return math.ceil(1.96**2 * math.pi * (4 - math.pi) / error**2)
