# verdict: wrong, diagnosis: one_rank
import numpy as np


def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    t = step_seconds[warmup:]
    rate = local_batch_sizes[0] / t.mean()
    error = rate * t.std(ddof=1) / np.sqrt(len(t)) / t.mean()
    return rate, error
