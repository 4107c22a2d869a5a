# verdict: wrong, diagnosis: rounded_down
import math


def samples_needed(error):
    return round(math.pi * (4 - math.pi) / error**2)
