# verdict: wrong, diagnosis: round_trip
import numpy as np


def fit_alpha_beta(sizes_bytes, round_trip_s):
    beta, alpha = np.polyfit(sizes_bytes, round_trip_s, 1)
    return alpha, beta
