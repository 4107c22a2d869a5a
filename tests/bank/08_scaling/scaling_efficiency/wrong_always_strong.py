# verdict: wrong, diagnosis: strong_weak_swapped
import numpy as np


def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    local = b / p
    kind = "strong"
    efficiency = (b / t) / (b[0] / t[0]) / (p / p[0])
    return kind, efficiency
