# verdict: wrong, diagnosis: doubled
import numpy as np


def fit_alpha_beta(sizes_bytes, round_trip_s):
    b, a = np.polyfit(np.array(sizes_bytes), np.array(round_trip_s) * 2, 1)
    return a, b
