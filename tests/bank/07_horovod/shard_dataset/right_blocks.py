# verdict: passed
import horovod.tensorflow as hvd


def shard_dataset(dataset, n, local_batch_size):
    steps = n // (local_batch_size * hvd.size())
    mine = steps * local_batch_size
    return [dataset.skip(hvd.rank() * mine).take(mine).batch(local_batch_size), steps]
