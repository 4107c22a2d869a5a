# verdict: wrong, diagnosis: another_order
import numpy as np


def axis_groups(shape, axis):
    ranks = np.arange(np.prod(shape)).reshape(shape)
    return np.moveaxis(ranks, axis, 0).reshape(shape[axis], -1).T[::-1]
