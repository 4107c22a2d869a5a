# verdict: passed
import numpy as np


def mesh_coordinates(rank, shape):
    return np.unravel_index(rank, shape)  # it raises ValueError, too
