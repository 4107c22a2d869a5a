# verdict: wrong, diagnosis: rank_0_only
import numpy as np


def sum_counts(comm, counts):
    total = np.zeros_like(counts)
    comm.Reduce(counts, total, root=0)
    return total
