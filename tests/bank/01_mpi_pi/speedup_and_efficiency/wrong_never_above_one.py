# verdict: wrong, diagnosis: capped
import numpy as np


def speedup_and_efficiency(ranks, seconds):
    speedup = seconds[0] / seconds
    return speedup, np.minimum(speedup * ranks[0] / ranks, 1.0)
