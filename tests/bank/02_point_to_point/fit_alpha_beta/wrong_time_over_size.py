# verdict: wrong, diagnosis: through_zero
import numpy as np


def fit_alpha_beta(sizes_bytes, round_trip_s):
    one_way = round_trip_s / 2
    alpha = np.polyfit(sizes_bytes, one_way, 1)[1]
    return alpha, np.mean(one_way / sizes_bytes)
