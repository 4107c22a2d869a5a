# verdict: wrong, diagnosis: ddof_0
import math


def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    s = a.mean() / b.mean()
    return s, s * math.hypot(a.std(ddof=1) / math.sqrt(len(a)) / a.mean(), b.std() / math.sqrt(len(b)) / b.mean())
