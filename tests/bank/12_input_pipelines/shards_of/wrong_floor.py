# verdict: wrong, diagnosis: drops_files
import random


def shards_of(files, rank, world_size, worker, workers, seed, epoch):
    order = sorted(files)
    random.Random(f"{seed} {epoch}").shuffle(order)
    each = len(order) // (world_size * workers)
    first = (rank * workers + worker) * each
    return order[first : first + each]
