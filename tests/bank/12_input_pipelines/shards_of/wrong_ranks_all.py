# verdict: wrong, diagnosis: every_rank_reads_all
import random


def shards_of(files, rank, world_size, worker, workers, seed, epoch):
    order = sorted(files)
    random.Random(f"{seed} {epoch}").shuffle(order)
    return order[worker::workers]
