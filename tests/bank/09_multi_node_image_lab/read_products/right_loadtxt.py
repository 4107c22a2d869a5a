# verdict: passed
import numpy as np


def read_products(text, classes=None):
    table = np.loadtxt(text.splitlines(), dtype=str, skiprows=1, ndmin=2)
    ids = table[:, 2].astype(int)
    if classes is None:
        classes = np.unique(ids).tolist()
    lookup = np.zeros(max(max(classes), ids.max()) + 1, dtype=np.int64)
    lookup[classes] = np.arange(len(classes))
    return table[:, 3].tolist(), lookup[ids], classes
