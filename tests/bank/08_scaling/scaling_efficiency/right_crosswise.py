# verdict: passed
import numpy as np


def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    if not np.ptp(b):
        kind = "strong"
    elif np.array_equal(b * p[0], b[0] * p):
        kind = "weak"
    else:
        kind = "neither"
    return [kind, [float(b[i] / t[i] * t[0] / b[0] * p[0] / p[i]) for i in range(len(p))]]
