# verdict: wrong, diagnosis: uneven_workers
import random


def shards_of(files, rank, world_size, worker, workers, seed, epoch):
    order = sorted(files)
    random.Random(f"{seed} {epoch}").shuffle(order)
    mine = order[rank::world_size]
    each = len(mine) // workers
    return mine[worker * each : (worker + 1) * each if worker < workers - 1 else None]
