# verdict: wrong, diagnosis: sigma_not_squared
import math


def samples_needed(error):
    return math.ceil(1.642 / error**2)
