# verdict: passed
# differs: A pattern finds the lines that look right, so the head and empty lines drop out by themselves.
import re

import numpy as np


def read_products(text, classes=None):
    found = re.findall(r"^[ \t]*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)", text, re.M)
    ids = [int(f[2]) for f in found]
    if classes is None:
        classes = np.unique(ids)
    label = {int(c): k for k, c in enumerate(classes)}
    return [f[3] for f in found], np.array([label[i] for i in ids], dtype=np.int32), classes
