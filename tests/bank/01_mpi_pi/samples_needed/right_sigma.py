# verdict: passed
# differs: The standard deviation is worked out from the chance of a hit, not typed in, and the number is rounded up.
import numpy as np

p = np.pi / 4


def samples_needed(error):
    sigma = 4 * np.sqrt(p * (1 - p))
    return int(np.ceil((sigma / error) ** 2))
