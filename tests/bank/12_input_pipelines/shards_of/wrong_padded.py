# verdict: wrong, diagnosis: reads_twice
import random


def shards_of(files, rank, world_size, worker, workers, seed, epoch):
    order = sorted(files)
    random.Random(f"{seed} {epoch}").shuffle(order)
    while len(order) % (world_size * workers):
        order.append(order[len(order) % len(files)])
    return order[rank::world_size][worker::workers]
