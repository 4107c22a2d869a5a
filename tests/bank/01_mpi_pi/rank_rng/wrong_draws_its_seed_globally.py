# verdict: wrong, diagnosis: touches_global_state
import random

import numpy as np


def rank_rng(seed, rank, world_size):
    random.seed(f"{seed}/{rank}")
    return np.random.default_rng(random.getrandbits(128))
