# verdict: passed
# differs: The efficiency is the first row's rank-seconds over each row's: what the same work costs in ranks times time.
import numpy as np


def speedup_and_efficiency(ranks, seconds):
    rank_seconds = ranks * seconds  # what the run costs
    return np.array([seconds[0] / seconds, rank_seconds[0] / rank_seconds])
