# verdict: wrong, diagnosis: two_hundredths_of_a_second
import numpy as np


def stragglers(times, k):
    medians = np.median(times, axis=1)
    centre = np.median(medians)
    spread = 1.4826 * np.median(np.abs(medians - centre))
    limit = centre + max(k * spread, 0.02)
    return [r for r, one in enumerate(medians.tolist()) if one > limit]
