# verdict: wrong, diagnosis: upside_down
import math


def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = b.mean() / a.mean()
    da = a.std(ddof=1) / math.sqrt(len(a))
    db = b.std(ddof=1) / math.sqrt(len(b))
    return speedup, speedup * math.hypot(da / a.mean(), db / b.mean())
