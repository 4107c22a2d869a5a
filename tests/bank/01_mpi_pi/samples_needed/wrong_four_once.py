# verdict: wrong, diagnosis: too_few
import math


def samples_needed(error):
    share = math.pi / 4
    return math.ceil(4 * share * (1 - share) / error**2)
