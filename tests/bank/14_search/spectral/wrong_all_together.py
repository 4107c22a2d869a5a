# verdict: wrong, diagnosis: fitted_with_all
from itertools import combinations

import numpy as np


def spectral(x, y, degree, s):
    sets = [one for d in range(degree + 1) for one in combinations(range(x.shape[1]), d)]
    table = np.column_stack([np.prod(x[:, one], axis=1) for one in sets])
    found = np.linalg.lstsq(table, y, rcond=None)[0]
    return [(sets[k], found[k]) for k in np.argsort(-abs(found))[:s]]
