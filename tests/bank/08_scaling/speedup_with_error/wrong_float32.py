# verdict: wrong, diagnosis: float32
import math

import numpy as np


def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    a, b = a.astype(np.float32), b.astype(np.float32)
    s = a.mean() / b.mean()
    return float(s), float(
        s * math.hypot(a.std(ddof=1) / math.sqrt(len(a)) / a.mean(), b.std(ddof=1) / math.sqrt(len(b)) / b.mean())
    )
