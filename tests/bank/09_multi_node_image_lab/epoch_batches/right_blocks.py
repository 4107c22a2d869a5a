# verdict: passed
import horovod.tensorflow as hvd
import numpy as np


def epoch_batches(dataset, n, local_batch_size, seed):
    first, last = np.linspace(0, n, hvd.size() + 1).astype(int)[hvd.rank() : hvd.rank() + 2]
    mine = dataset.skip(first).take(last - first).shuffle(last - first, seed=seed).repeat()
    return mine.batch(local_batch_size), (n + local_batch_size * hvd.size() - 1) // (local_batch_size * hvd.size())
