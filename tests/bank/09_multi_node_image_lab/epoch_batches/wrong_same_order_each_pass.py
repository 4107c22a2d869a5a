# verdict: wrong, diagnosis: one_order

import horovod.tensorflow as hvd


def epoch_batches(dataset, n, local_batch_size, seed):
    b = local_batch_size
    p, r = hvd.size(), hvd.rank()
    return dataset.shard(p, r).shuffle(n, seed=seed, reshuffle_each_iteration=False).repeat().batch(b), -(-n // (b * p))
