# verdict: wrong, diagnosis: by_local_rank
import horovod.tensorflow as hvd


def shard_dataset(dataset, n, local_batch_size):
    steps = n // (local_batch_size * hvd.size())
    return dataset.shard(hvd.size(), hvd.local_rank()).batch(local_batch_size, drop_remainder=True).take(steps), steps
