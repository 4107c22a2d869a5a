# verdict: wrong, diagnosis: returns_nothing
import math


def samples_needed(error):
    print(math.ceil(math.pi * (4 - math.pi) / error**2))
