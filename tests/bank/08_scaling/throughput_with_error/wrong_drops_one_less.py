# verdict: wrong, diagnosis: drops_one_less
import numpy as np


def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    t = step_seconds[max(warmup - 1, 0) :]
    rate = sum(local_batch_sizes) / t.mean()
    error = rate * t.std(ddof=1) / np.sqrt(len(t)) / t.mean()
    return rate, error
