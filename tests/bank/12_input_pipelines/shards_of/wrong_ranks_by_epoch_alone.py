# verdict: wrong, diagnosis: groups_ignore_the_seed
import random


def shards_of(files, rank, world_size, worker, workers, seed, epoch):
    order = sorted(files)
    random.Random(epoch).shuffle(order)
    share = order[rank::world_size]
    random.Random(seed * 1000 + epoch).shuffle(share)
    return share[worker::workers]
