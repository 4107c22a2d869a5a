# verdict: passed
# differs: All cuts are tried: for a dozen layers that is quick, and nobody can doubt it.
import itertools

import numpy as np


def partition(costs, p):
    n = len(costs)
    if p > n:
        raise ValueError("no")
    cuts = min(
        itertools.combinations(range(1, n), p - 1),
        key=lambda cuts: max(part.sum() for part in np.split(np.array(costs), cuts)),
    )
    return np.diff([0, *cuts, n])
