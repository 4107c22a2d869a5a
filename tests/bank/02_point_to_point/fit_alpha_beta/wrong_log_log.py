# verdict: wrong, diagnosis: unrecognised
import numpy as np


def fit_alpha_beta(sizes_bytes, round_trip_s):
    slope, start = np.polyfit(np.log(sizes_bytes), np.log(np.asarray(round_trip_s) / 2), 1)
    return np.exp(start), slope
