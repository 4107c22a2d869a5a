# verdict: passed
import math


def samples_needed(error):
    return math.ceil(math.pi * (4 - math.pi) / error**2)
