# verdict: wrong, diagnosis: two_points
import numpy as np


def fit_alpha_beta(sizes_bytes, round_trip_s):
    small, large = np.argmin(sizes_bytes), np.argmax(sizes_bytes)
    t = np.asarray(round_trip_s) / 2
    beta = (t[large] - t[small]) / (sizes_bytes[large] - sizes_bytes[small])
    return t[small] - beta * sizes_bytes[small], beta
