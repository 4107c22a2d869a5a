# verdict: wrong, diagnosis: sigma_is_1
import math


def samples_needed(error):
    return math.ceil(1 / error**2)
