# verdict: raised, diagnosis: ValueError
import numpy as np


def sum_counts(comm, counts):
    total = np.zeros(counts.shape)
    comm.Allreduce(counts, total)
    return total
