# verdict: wrong, diagnosis: added_linearly
import math


def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    speedup = a.mean() / b.mean()
    da = a.std(ddof=1) / math.sqrt(len(a))
    db = b.std(ddof=1) / math.sqrt(len(b))
    return speedup, speedup * (da / a.mean() + db / b.mean())
