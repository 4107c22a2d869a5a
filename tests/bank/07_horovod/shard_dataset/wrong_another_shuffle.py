# verdict: wrong, diagnosis: overlap
import horovod.tensorflow as hvd


def shard_dataset(dataset, n, local_batch_size):
    steps = n // (local_batch_size * hvd.size())
    return dataset.shuffle(1000, seed=hvd.rank()).shard(hvd.size(), hvd.rank()).batch(local_batch_size, drop_remainder=True).take(
        steps
    ), steps
