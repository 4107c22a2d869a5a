# verdict: passed
# differs: Whole batches are dealt out in place of samples: each rank then has runs of neighbours.
import horovod.tensorflow as hvd


def shard_dataset(dataset, n, local_batch_size):
    batches = dataset.batch(local_batch_size, drop_remainder=True)
    steps = n // local_batch_size // hvd.size()
    return batches.take(steps * hvd.size()).shard(hvd.size(), hvd.rank()), steps
