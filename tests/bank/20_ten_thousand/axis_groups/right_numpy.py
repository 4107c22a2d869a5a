# verdict: passed
import numpy as np


def axis_groups(shape, axis):
    ranks = np.arange(np.prod(shape)).reshape(shape)
    return np.moveaxis(ranks, axis, -1).reshape(-1, shape[axis])
