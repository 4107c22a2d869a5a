# verdict: wrong, diagnosis: alpha_in_microseconds
import numpy as np


def fit_alpha_beta(sizes_bytes, round_trip_s):
    b, a = np.polyfit(sizes_bytes, np.array(round_trip_s) / 2, 1)
    return 1e6 * a, b
