# verdict: wrong, diagnosis: unequal_shares

import horovod.tensorflow as hvd


def epoch_batches(dataset, n, local_batch_size, seed):
    b = local_batch_size
    p, r = hvd.size(), hvd.rank()
    k = n // p
    mine = dataset.skip(r * k)
    mine = mine.take(k) if r < p - 1 else mine
    return mine.shuffle(n, seed=seed).repeat().batch(b), -(-n // (b * p))
