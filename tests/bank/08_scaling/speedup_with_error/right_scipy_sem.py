# verdict: passed
import math

from scipy.stats import sem


def relative(x):
    return sem(x) / x.mean()


def speedup_with_error(baseline_seconds, parallel_seconds):
    speedup = baseline_seconds.mean() / parallel_seconds.mean()
    return speedup, speedup * math.hypot(relative(baseline_seconds), relative(parallel_seconds))
