# verdict: wrong, diagnosis: mean_of_rates
import numpy as np


def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    t = step_seconds[warmup:]
    rate = np.mean(local_batch_sizes[0] / t)
    error = rate * t.std(ddof=1) / np.sqrt(len(t)) / t.mean()
    return rate, error
