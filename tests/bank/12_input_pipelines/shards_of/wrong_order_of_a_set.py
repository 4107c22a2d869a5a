# verdict: wrong, diagnosis: orders_differ
import random


def shards_of(files, rank, world_size, worker, workers, seed, epoch):
    order = list(set(files))
    random.Random(f"{seed} {epoch}").shuffle(order)
    return order[rank::world_size][worker::workers]
