# verdict: wrong, diagnosis: bits
import numpy as np


def fit_alpha_beta(sizes_bytes, round_trip_s):
    bits = 8 * np.asarray(sizes_bytes)
    beta, alpha = np.polyfit(bits, np.asarray(round_trip_s) / 2, 1)
    return alpha, beta
