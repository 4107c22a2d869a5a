# verdict: wrong, diagnosis: glued_seed
import hashlib

import numpy as np


def rank_rng(seed, rank, world_size):
    name = str(rank) + str(seed)
    return np.random.default_rng(int(hashlib.md5(name.encode()).hexdigest(), 16))
