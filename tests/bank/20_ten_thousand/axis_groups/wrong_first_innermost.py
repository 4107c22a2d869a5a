# verdict: wrong, diagnosis: first_axis_innermost
import numpy as np


def axis_groups(shape, axis):
    ranks = np.arange(np.prod(shape)).reshape(shape, order="F")
    return sorted(np.moveaxis(ranks, axis, -1).reshape(-1, shape[axis]).tolist())
