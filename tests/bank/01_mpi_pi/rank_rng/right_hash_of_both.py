# verdict: passed
import hashlib

import numpy as np


def rank_rng(seed, rank, world_size):
    digest = hashlib.sha256(f"{seed} {rank}".encode()).digest()
    return np.random.Generator(np.random.SFC64(int.from_bytes(digest[:16], "big")))
