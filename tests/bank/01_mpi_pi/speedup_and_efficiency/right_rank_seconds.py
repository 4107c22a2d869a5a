# verdict: passed
import numpy as np


def speedup_and_efficiency(ranks, seconds):
    rank_seconds = ranks * seconds  # what the run costs
    return np.array([seconds[0] / seconds, rank_seconds[0] / rank_seconds])
