# verdict: passed
import numpy as np


def rank_rng(seed, rank, world_size):
    root = np.random.default_rng(seed)
    return root.spawn(rank + 1)[-1]
