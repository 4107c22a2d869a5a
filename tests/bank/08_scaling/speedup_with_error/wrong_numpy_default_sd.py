# verdict: wrong, diagnosis: sd_ddof_0
import math


def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = a.mean() / b.mean()
    da = a.std()
    db = b.std()
    return speedup, speedup * math.hypot(da / a.mean(), db / b.mean())
