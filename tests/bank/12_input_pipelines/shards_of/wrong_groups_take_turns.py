# verdict: wrong, diagnosis: same_groups
import numpy as np


def shards_of(files, rank, world_size, worker, workers, seed, epoch):
    mine = sorted(files)[(rank + epoch) % world_size :: world_size]
    mine = [mine[k] for k in np.random.default_rng([seed, epoch]).permutation(len(mine))]
    return mine[worker::workers]
