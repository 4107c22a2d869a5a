# verdict: wrong, diagnosis: time_ratio_not_divided
import numpy as np


def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if np.all(b == b[0]) else "weak" if np.all(local == local[0]) else "neither"
    efficiency = t[0] / t
    return kind, efficiency
