# verdict: wrong, diagnosis: slowest_only
import numpy as np


def stragglers(times, k):
    own = np.median(times, axis=1)
    centre = np.median(own)
    spread = 1.4826 * np.median(np.abs(own - centre))
    slow = [r for r in range(len(own)) if own[r] - centre > k * spread and own[r] > 1.02 * centre]
    return [int(own.argmax())] if slow else []
