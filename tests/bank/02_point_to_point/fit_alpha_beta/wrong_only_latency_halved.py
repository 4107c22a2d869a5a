# verdict: wrong, diagnosis: only_alpha_halved
import numpy as np


def fit_alpha_beta(sizes_bytes, round_trip_s):
    beta, alpha = np.polyfit(sizes_bytes, round_trip_s, 1)
    return alpha / 2, beta
