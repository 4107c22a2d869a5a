# verdict: wrong, diagnosis: one_number
import numpy as np


def sum_counts(comm, counts):
    total = np.zeros(1)
    comm.Allreduce(np.array([counts.sum()], dtype=float), total)
    return total[0]
