# verdict: wrong, diagnosis: overflow
import numpy as np


def samples_needed(error):
    return np.ceil(np.pi * (4 - np.pi) / error**2).astype(np.int32)
