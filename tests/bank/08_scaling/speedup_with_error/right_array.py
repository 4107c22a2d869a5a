# verdict: passed
import numpy as np


def speedup_with_error(baseline_seconds, parallel_seconds):
    means = np.array([x.mean() for x in (baseline_seconds, parallel_seconds)])
    errors = np.array([np.sqrt(np.var(x, ddof=1) / x.size) for x in (baseline_seconds, parallel_seconds)])
    speedup = means[0] / means[1]
    return np.array([speedup, speedup * np.linalg.norm(errors / means)])
