# verdict: wrong, diagnosis: small_buffer

import horovod.tensorflow as hvd


def epoch_batches(dataset, n, local_batch_size, seed):
    b = local_batch_size
    p, r = hvd.size(), hvd.rank()
    return dataset.shard(p, r).shuffle(2, seed=seed).repeat().batch(b), -(-n // (b * p))
