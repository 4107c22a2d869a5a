# verdict: passed

from labkit import scaling


def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = baseline_seconds, parallel_seconds
    e = scaling.speedup(a, b)
    return e.value, e.error
