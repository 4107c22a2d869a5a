# verdict: wrong, diagnosis: sd_ddof_0
import numpy as np


def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    t = step_seconds[warmup:]
    rate = sum(local_batch_sizes) / t.mean()
    error = rate * t.std() / t.mean()
    return rate, error
