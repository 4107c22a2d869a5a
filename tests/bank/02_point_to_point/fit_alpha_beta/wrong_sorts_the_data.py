# verdict: wrong, diagnosis: modifies_input
import numpy as np


def fit_alpha_beta(sizes_bytes, round_trip_s):
    round_trip_s /= 2
    beta, alpha = np.polyfit(sizes_bytes, round_trip_s, 1)
    return alpha, beta
