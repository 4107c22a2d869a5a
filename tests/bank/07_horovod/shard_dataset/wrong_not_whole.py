# verdict: wrong, diagnosis: not_whole
import horovod.tensorflow as hvd


def shard_dataset(dataset, n, local_batch_size):
    steps = n / (hvd.size() * local_batch_size)
    return dataset.shard(hvd.size(), hvd.rank()).batch(local_batch_size, drop_remainder=True).take(int(steps)), steps
