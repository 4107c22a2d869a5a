# verdict: wrong, diagnosis: mean_and_deviation
import numpy as np


def stragglers(times, k):
    middle = np.median(times, axis=1)
    centre = middle.mean()
    spread = middle.std()
    return np.flatnonzero(middle - centre > max(k * spread, 0.02 * centre)).tolist()
