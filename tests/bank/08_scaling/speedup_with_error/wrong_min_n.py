# verdict: wrong, diagnosis: cut_to_the_shorter
import math


def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    n = min(len(a), len(b))
    a, b = a[:n], b[:n]
    s = a.mean() / b.mean()
    e = s * math.hypot(a.std(ddof=1) / math.sqrt(n) / a.mean(), b.std(ddof=1) / math.sqrt(n) / b.mean())
    return s, e
