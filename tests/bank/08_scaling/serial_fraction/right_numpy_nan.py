# verdict: passed
import numpy as np


def serial_fraction(world_size, speedup, speedup_error):
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.float64(1) - 1 / world_size
        fraction = np.float64(1 / speedup - 1 / world_size) / scale
    return np.array([fraction, speedup_error / speedup**2 / scale if scale else np.nan])
