# verdict: wrong, diagnosis: wrong_shape
import numpy as np


def sum_counts(comm, counts):
    counts = np.atleast_1d(counts)
    total = np.empty_like(counts)
    comm.Allreduce(counts, total)
    return total
