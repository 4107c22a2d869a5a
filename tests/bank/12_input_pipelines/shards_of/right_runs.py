# verdict: passed
# differs: Runs of the shuffled list in place of strides: as fair, since the list was shuffled before.
import numpy as np


def shards_of(files, rank, world_size, worker, workers, seed, epoch):
    order = np.random.default_rng([seed, epoch]).permutation(sorted(files))
    mine = np.array_split(order, world_size)[rank]
    return np.array_split(mine, workers)[worker].tolist()
