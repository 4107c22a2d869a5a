# verdict: wrong, diagnosis: ddof_0
import math

import numpy as np


def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = a.mean() / b.mean()
    da = np.std(a) / math.sqrt(len(a))
    db = np.std(b) / math.sqrt(len(b))
    return speedup, speedup * math.hypot(da / a.mean(), db / b.mean())
