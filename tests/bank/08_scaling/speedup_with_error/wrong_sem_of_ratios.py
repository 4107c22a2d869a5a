# verdict: wrong, diagnosis: mean_of_ratios
import math

import numpy as np


def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = a.mean() / b.mean()
    da = a.std(ddof=1) / math.sqrt(len(a))
    db = b.std(ddof=1) / math.sqrt(len(b))
    return speedup, np.std(a[: len(b)] / b[: len(a)], ddof=1) / math.sqrt(min(len(a), len(b)))
