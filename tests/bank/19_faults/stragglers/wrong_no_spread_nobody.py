# verdict: wrong, diagnosis: nobody_without_spread
import numpy as np


def stragglers(times, k):
    own = np.median(times, axis=1)
    middle = np.median(own)
    spread = 1.4826 * np.median(np.abs(own - middle))
    if spread == 0:
        return []
    return [int(r) for r in range(len(own)) if own[r] > middle + k * spread and own[r] > 1.02 * middle]
