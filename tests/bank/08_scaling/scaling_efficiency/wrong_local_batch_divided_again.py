# verdict: wrong, diagnosis: ranks_counted_twice
import numpy as np


def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if np.all(b == b[0]) else "weak" if np.all(local == local[0]) else "neither"
    efficiency = (local / t) / (local[0] / t[0]) / (p / p[0])
    return kind, efficiency
