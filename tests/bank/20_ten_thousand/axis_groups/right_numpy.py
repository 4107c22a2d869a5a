# verdict: passed
# differs: The ranks as an array of the mesh's shape, with the axis moved to the end: its rows are the groups.
import numpy as np


def axis_groups(shape, axis):
    ranks = np.arange(np.prod(shape)).reshape(shape)
    return np.moveaxis(ranks, axis, -1).reshape(-1, shape[axis])
