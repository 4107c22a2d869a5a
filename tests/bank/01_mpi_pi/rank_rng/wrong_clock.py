# verdict: wrong, diagnosis: unseeded
import time

import numpy as np


def rank_rng(seed, rank, world_size):
    return np.random.default_rng(time.perf_counter_ns() + seed + rank)
