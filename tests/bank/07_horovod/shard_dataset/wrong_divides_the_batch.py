# verdict: wrong, diagnosis: wrong_batch_size
import horovod.tensorflow as hvd


def shard_dataset(dataset, n, local_batch_size):
    steps = n // (local_batch_size * hvd.size())
    return dataset.shard(hvd.size(), hvd.rank()).batch(max(1, local_batch_size // hvd.size())).take(steps), steps
