# verdict: wrong, diagnosis: shrinks_with_error
import math


def samples_needed(error):
    return math.sqrt(math.pi * (4 - math.pi)) / math.sqrt(1 / error)
