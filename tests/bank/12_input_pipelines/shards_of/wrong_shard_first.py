# verdict: wrong, diagnosis: shards_then_shuffles
import random


def shards_of(files, rank, world_size, worker, workers, seed, epoch):
    mine = sorted(files)[rank::world_size][worker::workers]
    random.Random(f"{seed} {epoch}").shuffle(mine)
    return mine
