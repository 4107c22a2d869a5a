# verdict: passed
# differs: The median of the slopes between all pairs of points: a few disturbed measurements do not move it.
import numpy as np

from scipy.stats import theilslopes


def fit_alpha_beta(sizes_bytes, round_trip_s):
    result = theilslopes(np.asarray(round_trip_s) / 2, sizes_bytes)
    return np.array([result.intercept, result.slope])
