# verdict: wrong, diagnosis: by_local_rank
import horovod.tensorflow as hvd


def epoch_batches(dataset, n, local_batch_size, seed):
    steps = -(-n // (local_batch_size * hvd.size()))
    mine = dataset.shard(hvd.size(), hvd.local_rank())
    return mine.shuffle(n, seed=seed).repeat().batch(local_batch_size), steps
