# verdict: wrong, diagnosis: doubling_assumed
import numpy as np


def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong" if (b == b[0]).all() else "weak" if (local == local[0]).all() else "neither"
    r = b / t
    return kind, r / r[0] / 2.0 ** np.arange(len(p))
