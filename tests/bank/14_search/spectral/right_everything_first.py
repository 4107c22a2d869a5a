# verdict: passed
# differs: All coefficients are fitted at once, and the largest again: what thresholding the means is a shortcut for.
import itertools

import numpy as np


def spectral(x, y, degree, s):
    names, columns = [], []
    for d in range(degree + 1):
        for subset in itertools.combinations(range(len(x[0])), d):
            names.append(subset)
            column = np.ones(len(y))
            for k in subset:
                column = column * x[:, k]
            columns.append(column)
    features = np.array(columns).T
    rough, *_ = np.linalg.lstsq(features, y, rcond=None)
    largest = np.argsort(np.abs(rough))[::-1][:s]
    fine, *_ = np.linalg.lstsq(features[:, largest], y, rcond=None)
    pairs = [(names[k], c) for k, c in zip(largest, fine)]
    return sorted(pairs, key=lambda pair: -abs(pair[1]))
