# verdict: passed
import numpy as np


def ring_order(node_of):
    return np.argsort(node_of, kind="stable")
