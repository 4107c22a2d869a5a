# verdict: passed
import numpy as np


def fit_alpha_beta(sizes_bytes, round_trip_s):
    line = np.polynomial.Polynomial.fit(sizes_bytes, round_trip_s, 1, w=1 / np.asarray(round_trip_s))
    return tuple(line.convert().coef / 2)
