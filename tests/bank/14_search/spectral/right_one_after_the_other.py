# verdict: passed
from itertools import chain, combinations

import numpy as np


def spectral(x, y, degree, s):
    """Orthogonal matching pursuit: the set that explains most of what is left, and all are fitted again."""
    columns = range(x.shape[1])
    sets = list(chain.from_iterable(combinations(columns, d) for d in range(degree + 1)))
    table = np.array([np.prod(x[:, one], axis=1) for one in sets]).T
    chosen, rest = [], y
    for _ in range(s):
        chosen.append(int(np.abs(table.T @ rest).argmax()))
        part = table[:, chosen]
        found = np.linalg.solve(part.T @ part, part.T @ y)
        rest = y - part @ found
    return dict(sorted(((sets[k], float(c)) for k, c in zip(chosen, found)), key=lambda one: -abs(one[1])))
