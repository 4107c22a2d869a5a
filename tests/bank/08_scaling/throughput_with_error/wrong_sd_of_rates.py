# verdict: wrong, diagnosis: sd_of_rates
import numpy as np


def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    t = step_seconds[warmup:]
    rate = sum(local_batch_sizes) / t.mean()
    error = np.std(sum(local_batch_sizes) / t, ddof=1)
    return rate, error
