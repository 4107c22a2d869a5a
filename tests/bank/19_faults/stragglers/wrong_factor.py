# verdict: wrong, diagnosis: spread_without_factor
import numpy as np


def stragglers(times, k):
    middle = np.median(times, axis=1)
    centre = np.median(middle)
    spread = np.median(np.abs(middle - centre))
    return np.flatnonzero(middle - centre > max(k * spread, 0.02 * centre)).tolist()
