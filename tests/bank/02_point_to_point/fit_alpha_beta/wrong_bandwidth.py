# verdict: wrong, diagnosis: bandwidth
import numpy as np


def fit_alpha_beta(sizes_bytes, round_trip_s):
    slope, start = np.polyfit(sizes_bytes, round_trip_s / 2, 1)
    return start, 1 / slope
