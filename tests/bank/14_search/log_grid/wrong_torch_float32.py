# verdict: wrong, diagnosis: lost_digits
import math

import torch


def log_grid(low, high, n):
    if not 0 < low < high or n < 2:
        raise ValueError
    return torch.logspace(math.log10(low), math.log10(high), n).tolist()
