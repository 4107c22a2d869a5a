# verdict: wrong, diagnosis: orders_differ
def shards_of(files, rank, world_size, worker, workers, seed, epoch):
    order = sorted(files, key=lambda name: hash((name, seed, epoch)))
    return order[rank::world_size][worker::workers]
