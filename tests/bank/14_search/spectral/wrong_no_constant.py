# verdict: wrong, diagnosis: no_constant
from itertools import combinations

import numpy as np


def spectral(x, y, degree, s):
    sets = [one for d in range(1, degree + 1) for one in combinations(range(x.shape[1]), d)]
    table = np.stack([x[:, list(one)].prod(axis=1) for one in sets], axis=1)
    means = table.T @ y / len(y)
    chosen = np.argsort(-np.abs(means))[:s]
    found = np.linalg.lstsq(table[:, chosen], y, rcond=None)[0]
    order = np.argsort(-np.abs(found))
    return [(sets[chosen[k]], found[k]) for k in order]
