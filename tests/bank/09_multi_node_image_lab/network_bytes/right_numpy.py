# verdict: passed
import numpy as np


def network_bytes(node_of, nbytes, two_levels):
    node_of = np.asarray(node_of)
    p, nodes = len(node_of), len(set(node_of.tolist()))
    if two_levels:
        held = nbytes / np.bincount(node_of)
        return np.bincount(node_of) * 2 * (nodes - 1) * held / nodes
    leaves = node_of != np.roll(node_of, -1)
    return np.bincount(node_of, weights=leaves * (2 * (p - 1) * nbytes / p))
