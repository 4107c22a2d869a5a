# verdict: wrong, diagnosis: steps_of_one_process
import horovod.tensorflow as hvd


def shard_dataset(dataset, n, local_batch_size):
    steps = n // local_batch_size
    return dataset.shard(hvd.size(), hvd.rank()).batch(local_batch_size, drop_remainder=True).take(steps), steps
