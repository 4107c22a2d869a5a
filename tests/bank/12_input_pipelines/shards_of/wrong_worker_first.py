# verdict: wrong, diagnosis: uneven_ranks
import random


def shards_of(files, rank, world_size, worker, workers, seed, epoch):
    order = sorted(files)
    random.Random(f"{seed} {epoch}").shuffle(order)
    return order[rank * workers + worker :: world_size * workers]
