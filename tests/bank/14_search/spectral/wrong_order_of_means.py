# verdict: wrong, diagnosis: order_of_the_first_look
from itertools import combinations

import numpy as np


def spectral(x, y, degree, s):
    sets = [one for d in range(0, degree + 1) for one in combinations(range(x.shape[1]), d)]
    table = np.stack([x[:, list(one)].prod(axis=1) for one in sets], axis=1)
    means = table.T @ y / len(y)
    chosen = np.argsort(-np.abs(means))[:s]
    found = np.linalg.lstsq(table[:, chosen], y, rcond=None)[0]
    return [(sets[k], float(c)) for k, c in zip(chosen, found)]
