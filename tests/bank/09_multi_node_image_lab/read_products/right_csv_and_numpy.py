# verdict: passed
import csv
import io

import numpy as np


def read_products(text, classes=None):
    rows = list(csv.DictReader(io.StringIO(text.strip()), delimiter=" "))
    ids = np.array([int(row["super_class_id"]) for row in rows])
    known = np.unique(ids) if classes is None else np.array(classes)
    order = np.argsort(known)
    return tuple(row["path"] for row in rows), order[np.searchsorted(known, ids, sorter=order)], known
