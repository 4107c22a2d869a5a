# verdict: wrong, diagnosis: overlap
import horovod.tensorflow as hvd


def epoch_batches(dataset, n, local_batch_size, seed):
    steps = -(-n // (local_batch_size * hvd.size()))
    mine = dataset.shuffle(n, seed=seed + hvd.rank()).shard(hvd.size(), hvd.rank())
    return mine.repeat().batch(local_batch_size), steps
