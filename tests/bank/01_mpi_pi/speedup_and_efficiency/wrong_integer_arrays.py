# verdict: wrong, diagnosis: whole_numbers
import numpy as np


def speedup_and_efficiency(ranks, seconds):
    speedup, efficiency = np.zeros_like(ranks), np.zeros_like(ranks)
    for row in range(len(ranks)):
        speedup[row] = seconds[0] / seconds[row]
        efficiency[row] = speedup[row] / (ranks[row] / ranks[0])
    return speedup, efficiency
