# verdict: wrong, diagnosis: returns_nothing
import numpy as np


def sum_counts(comm, counts):
    total = np.empty_like(counts)
    return comm.Allreduce(counts, total)
