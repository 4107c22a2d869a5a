# verdict: wrong, diagnosis: previous_row
import numpy as np


def speedup_and_efficiency(ranks, seconds):
    speedup = np.ones(len(seconds))
    for i in range(1, len(seconds)):
        speedup[i] = seconds[i - 1] / seconds[i]
    return speedup, speedup * ranks[0] / ranks
