# verdict: wrong, diagnosis: unseeded
import time

import numpy as np


def rank_rng(seed, rank, world_size):
    return np.random.default_rng([seed, rank, int(time.time() / 60)])
