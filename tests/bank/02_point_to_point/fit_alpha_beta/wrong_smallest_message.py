# verdict: wrong, diagnosis: smallest_message
import numpy as np


def fit_alpha_beta(sizes_bytes, round_trip_s):
    one_way = round_trip_s / 2
    beta = np.polyfit(sizes_bytes, one_way, 1)[0]
    return one_way.min(), beta
