# verdict: wrong, diagnosis: same_every_epoch
import random


def shards_of(files, rank, world_size, worker, workers, seed, epoch):
    order = sorted(files)
    random.Random(seed).shuffle(order)
    return order[rank::world_size][worker::workers]
