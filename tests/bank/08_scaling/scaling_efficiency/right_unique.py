# verdict: passed
# differs: Fractions in place of quotients: whether all local batches are alike is decided without rounding.
from fractions import Fraction

import numpy as np


def scaling_efficiency(world_sizes, global_batch_sizes, step_seconds):
    p, b, t = world_sizes, global_batch_sizes, step_seconds
    kind = (
        "strong"
        if np.unique(b).size == 1
        else "weak"
        if len({Fraction(int(x), int(y)) for x, y in zip(b, p)}) == 1
        else "neither"
    )
    e = (b / (p * t)) / (b[0] / (p[0] * t[0]))
    return kind, e.tolist()
