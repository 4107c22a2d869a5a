# verdict: wrong, diagnosis: variance_squared
import math


def samples_needed(error):
    sigma = math.pi * (4 - math.pi)
    return math.ceil((sigma / error) ** 2)
