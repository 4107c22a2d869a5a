# verdict: passed
import numpy as np


def kind_of(p, batch):
    if len(np.unique(batch)) == 1:
        return "Strong"
    if len(np.unique(batch // p)) == 1 and not np.any(batch % p):
        return "Weak"
    return "Neither"


def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    kind = kind_of(world_sizes, global_batch_sizes)
    speedup = step_seconds[0] / step_seconds
    more_ranks = world_sizes / world_sizes[0]
    more_work = global_batch_sizes / global_batch_sizes[0]
    if kind == "Strong":
        return kind, speedup / more_ranks
    if kind == "Weak":
        return kind, speedup
    return kind, speedup * more_work / more_ranks
