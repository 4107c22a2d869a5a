# verdict: passed
# differs: The relative errors of both means are added in squares: the rule for any quotient.
import numpy as np


def speedup_with_error(baseline_seconds, parallel_seconds):
    a, b = np.mean(baseline_seconds), np.mean(parallel_seconds)
    da = np.std(baseline_seconds, ddof=1) / np.sqrt(len(baseline_seconds))
    db = np.std(parallel_seconds, ddof=1) / np.sqrt(len(parallel_seconds))
    s = a / b
    return s, s * np.sqrt((da / a) ** 2 + (db / b) ** 2)
