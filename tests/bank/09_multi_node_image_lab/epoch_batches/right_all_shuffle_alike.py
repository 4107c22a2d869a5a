# verdict: passed
# differs: Everybody shuffles the whole list with one seed, and then shards it: each epoch a rank sees other images.
import horovod.tensorflow as hvd


def epoch_batches(dataset, n, local_batch_size, seed):
    steps = -(-n // (local_batch_size * hvd.size()))
    mine = dataset.shuffle(n, seed=seed).shard(hvd.size(), hvd.rank())
    return mine.repeat().batch(local_batch_size), steps
