# verdict: wrong, diagnosis: passes_mixed

import horovod.tensorflow as hvd


def epoch_batches(dataset, n, local_batch_size, seed):
    b = local_batch_size
    p, r = hvd.size(), hvd.rank()
    return dataset.shard(p, r).repeat().shuffle(n, seed=seed).batch(b), -(-n // (b * p))
