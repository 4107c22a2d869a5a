# verdict: wrong, diagnosis: wrong_type
from itertools import combinations

import numpy as np


def spectral(x, y, degree, s):
    sets = [one for d in range(degree + 1) for one in combinations(range(x.shape[1]), d)]
    table = np.stack([x[:, list(one)].prod(axis=1) for one in sets], axis=1)
    chosen = np.argsort(-np.abs(table.T @ y))[:s]
    found = np.linalg.lstsq(table[:, chosen], y, rcond=None)[0]
    pairs = [(frozenset(sets[k]), float(c)) for k, c in zip(chosen, found, strict=True)]
    return sorted(pairs, key=lambda pair: -abs(pair[1]))
