# verdict: wrong, diagnosis: share_sorted
import numpy as np


def shards_of(files, rank, world_size, worker, workers, seed, epoch):
    names = sorted(files)
    order = np.random.default_rng([seed, epoch]).permutation(len(names))
    return sorted([names[k] for k in order[rank::world_size]][worker::workers])
