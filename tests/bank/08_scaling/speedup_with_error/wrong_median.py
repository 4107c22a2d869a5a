# verdict: wrong, diagnosis: median
import math

import numpy as np


def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = np.median(a) / np.median(b)
    da = a.std(ddof=1) / math.sqrt(len(a))
    db = b.std(ddof=1) / math.sqrt(len(b))
    return speedup, speedup * math.hypot(da / a.mean(), db / b.mean())
