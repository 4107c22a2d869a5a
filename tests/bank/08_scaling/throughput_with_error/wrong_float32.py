# verdict: wrong, diagnosis: float32
import math

import numpy as np


def throughput_with_error(local_batch_sizes, step_seconds, warmup):
    b, t, w = local_batch_sizes, step_seconds, warmup
    t = np.asarray(t[w:], dtype=np.float32)
    r = sum(b) / t.mean()
    return float(r), float(r * t.std(ddof=1) / math.sqrt(len(t)) / t.mean())
