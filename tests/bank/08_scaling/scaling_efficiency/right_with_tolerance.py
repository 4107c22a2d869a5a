# verdict: passed
import numpy as np


def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if np.allclose(b, b[0]) else "weak" if np.allclose(local, local[0]) else "neither"
    rate = b / t / p
    return kind, rate / rate[0]
