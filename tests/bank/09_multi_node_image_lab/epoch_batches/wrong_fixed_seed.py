# verdict: wrong, diagnosis: seed_ignored

import horovod.tensorflow as hvd


def epoch_batches(dataset, n, local_batch_size, seed):
    b = local_batch_size
    p, r = hvd.size(), hvd.rank()
    return dataset.shard(p, r).shuffle(n, seed=0).repeat().batch(b), -(-n // (b * p))
