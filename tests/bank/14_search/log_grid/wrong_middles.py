# verdict: wrong, diagnosis: middles
import numpy as np


def log_grid(low, high, n):
    if low <= 0 or high <= low or n < 2:
        raise ValueError("0 < low < high, and at least two points")
    return [low * (high / low) ** ((k + 0.5) / n) for k in range(n)]
