# verdict: wrong, diagnosis: too_many
import math


def samples_needed(error):
    return math.ceil(math.sqrt(math.pi * (4 - math.pi)) / error) ** 2
