# verdict: wrong, diagnosis: swapped
import numpy as np


def fit_alpha_beta(sizes_bytes, round_trip_s):
    alpha, beta = np.polyfit(sizes_bytes, np.asarray(round_trip_s) / 2, 1)
    return alpha, beta
