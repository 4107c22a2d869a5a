# verdict: wrong, diagnosis: error_of_seconds
import numpy as np


def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    t = step_seconds[warmup:]
    rate = sum(local_batch_sizes) / t.mean()
    error = t.std(ddof=1) / np.sqrt(len(t))
    return rate, error
