# verdict: wrong, diagnosis: stream_ends
import horovod.tensorflow as hvd


def epoch_batches(dataset, n, local_batch_size, seed):
    steps = -(-n // (local_batch_size * hvd.size()))
    mine = dataset.shard(hvd.size(), hvd.rank())
    return mine.shuffle(n, seed=seed).batch(local_batch_size), steps
