# verdict: passed
import tensorflow as tf
import horovod.tensorflow as hvd


def shard_dataset(dataset, n, local_batch_size):
    p, r = hvd.size(), hvd.rank()
    steps = n // (p * local_batch_size)
    mine = dataset.enumerate().filter(lambda i, _: i % p == r).map(lambda _, item: item)
    return mine.batch(local_batch_size).take(steps).prefetch(tf.data.AUTOTUNE), steps
