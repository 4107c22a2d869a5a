# verdict: wrong, diagnosis: microseconds
import numpy as np


def fit_alpha_beta(sizes_bytes, round_trip_s):
    microseconds = 1e6 * np.asarray(round_trip_s) / 2
    beta, alpha = np.polyfit(sizes_bytes, microseconds, 1)
    return alpha, beta
