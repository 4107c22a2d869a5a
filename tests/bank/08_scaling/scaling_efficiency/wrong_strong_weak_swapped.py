# verdict: wrong, diagnosis: strong_weak_swapped
import numpy as np


def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "weak" if np.all(b == b[0]) else "strong" if np.all(local == local[0]) else "neither"
    efficiency = (b / t) / (b[0] / t[0]) / (p / p[0])
    return kind, efficiency
