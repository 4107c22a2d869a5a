# verdict: wrong, diagnosis: neither_overlooked
import numpy as np


def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    if np.all(global_batch_sizes == global_batch_sizes[0]):
        kind = "strong"
    elif len(set(global_batch_sizes // world_sizes)) == 1:
        kind = "weak"
    else:
        kind = "neither"
    rate = global_batch_sizes / step_seconds
    return kind, (rate / rate[0]) / (world_sizes / world_sizes[0])
