# verdict: wrong, diagnosis: per_rank
import numpy as np


def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    t = step_seconds[warmup:]
    rate = np.mean(local_batch_sizes) / t.mean()
    error = rate * t.std(ddof=1) / np.sqrt(len(t)) / t.mean()
    return rate, error
