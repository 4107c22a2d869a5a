# verdict: raised, diagnosis: InvalidArgumentError
import horovod.tensorflow as hvd


def shard_dataset(dataset, n, local_batch_size):
    steps = n // (local_batch_size * hvd.size())
    return dataset.shard(hvd.rank(), hvd.size()).batch(local_batch_size).take(steps), steps
