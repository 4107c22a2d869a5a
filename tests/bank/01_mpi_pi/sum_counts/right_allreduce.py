# verdict: passed
import numpy as np


def sum_counts(comm, counts):
    total = np.empty_like(counts)
    comm.Allreduce(counts, total)
    return total
