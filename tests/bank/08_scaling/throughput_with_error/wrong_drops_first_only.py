# verdict: wrong, diagnosis: drops_first_only
import numpy as np


def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    t = step_seconds[1:]
    rate = sum(local_batch_sizes) / t.mean()
    error = rate * t.std(ddof=1) / np.sqrt(len(t)) / t.mean()
    return rate, error
