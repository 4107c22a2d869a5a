# verdict: wrong, diagnosis: per_rank
import numpy as np


def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    t = step_seconds[warmup:]
    rate = sum(local_batch_sizes) / t.mean() / len(local_batch_sizes)
    error = rate * t.std(ddof=1) / np.sqrt(len(t)) / t.mean()
    return rate, error
