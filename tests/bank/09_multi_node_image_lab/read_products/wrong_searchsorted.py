# verdict: wrong, diagnosis: given_sorted
import numpy as np


def read_products(text, classes=None):
    rows = [l.split() for l in text.splitlines()[1:] if l.strip()]
    paths = [r[3] for r in rows]
    ids = [int(r[2]) for r in rows]
    if classes is None:
        classes = sorted(set(ids))
    return paths, np.searchsorted(classes, ids), classes
