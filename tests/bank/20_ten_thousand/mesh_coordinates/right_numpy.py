# verdict: passed
# differs: NumPy has it as `unravel_index`, the error for a rank that does not exist included.
import numpy as np


def mesh_coordinates(rank, shape):
    return np.unravel_index(rank, shape)  # it raises ValueError, too
