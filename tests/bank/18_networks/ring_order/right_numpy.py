# verdict: passed
# differs: A stable argsort: ranks of a node stay in their order, and nodes come one after the other.
import numpy as np


def ring_order(node_of):
    return np.argsort(node_of, kind="stable")
