# verdict: wrong, diagnosis: swapped_round_trip
import numpy as np


def fit_alpha_beta(sizes_bytes, round_trip_s):
    return tuple(np.polyfit(sizes_bytes, np.array(round_trip_s), 1))
