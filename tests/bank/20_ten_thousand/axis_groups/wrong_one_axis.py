# verdict: raised, diagnosis: TypeError
import numpy as np


def axis_groups(shape, axis):
    others = [n for k, n in enumerate(shape) if k != axis]
    ranks = np.moveaxis(np.arange(np.prod(shape)).reshape(shape), axis, -1)
    return ranks.reshape(np.prod(others), shape[axis]).tolist()  # of nothing it is 1.0
