# verdict: passed
import numpy as np


def fit_alpha_beta(sizes_bytes, round_trip_s):
    n = np.array(sizes_bytes, dtype=float)
    a = np.column_stack([np.ones_like(n), n / n.max()])
    (alpha, scaled), *_ = np.linalg.lstsq(a, np.array(round_trip_s), rcond=None)
    return float(alpha) / 2, float(scaled) / n.max() / 2
