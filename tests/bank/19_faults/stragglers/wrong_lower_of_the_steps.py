# verdict: wrong, diagnosis: lower_median
import numpy as np


def stragglers(times, k):
    own = np.sort(times, axis=1)[:, (times.shape[1] - 1) // 2]
    middle = np.median(own)
    spread = 1.4826 * np.median(np.abs(own - middle))
    return [int(r) for r in range(len(own)) if own[r] > middle + k * spread and own[r] > 1.02 * middle]
