# verdict: wrong, diagnosis: unseeded
import os

import numpy as np


def rank_rng(seed, rank, world_size):
    return np.random.default_rng([seed, rank, os.getpid()])
