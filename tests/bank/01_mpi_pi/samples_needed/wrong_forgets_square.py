# verdict: wrong, diagnosis: forgets_square
import math


def samples_needed(error):
    return math.ceil(math.sqrt(math.pi * (4 - math.pi)) / error)
