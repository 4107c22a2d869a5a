# verdict: wrong, diagnosis: slowest_dropped
import math

import numpy as np


def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    b, t, w = local_batch_sizes, step_seconds, warmup
    t = np.sort(t)[::-1][w:]
    r = sum(b) / t.mean()
    return r, r * t.std(ddof=1) / math.sqrt(len(t)) / t.mean()
