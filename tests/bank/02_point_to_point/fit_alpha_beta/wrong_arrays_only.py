# verdict: raised, diagnosis: arrays_only
import numpy as np


def fit_alpha_beta(sizes_bytes, round_trip_s):
    beta, alpha = np.polyfit(sizes_bytes, round_trip_s / 2, 1)
    return alpha, beta
