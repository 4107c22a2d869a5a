# verdict: wrong, diagnosis: unequal_steps
import horovod.tensorflow as hvd


def shard_dataset(dataset, n, local_batch_size):
    shard = dataset.shard(hvd.size(), hvd.rank())
    steps = len(shard) // local_batch_size
    return shard.batch(local_batch_size, drop_remainder=True), steps
