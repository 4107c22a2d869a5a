# verdict: wrong, diagnosis: lost_digits
import numpy as np


def sum_counts(comm, counts):
    total = np.empty(counts.shape)
    comm.Allreduce(counts.astype(float), total)
    return total.astype(counts.dtype)
