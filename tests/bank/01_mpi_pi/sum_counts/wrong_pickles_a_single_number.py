# verdict: wrong, diagnosis: pickled
import numpy as np


def sum_counts(comm, counts):
    if counts.ndim == 0:
        return np.array(comm.allreduce(counts), dtype=counts.dtype)
    total = np.empty_like(counts)
    comm.Allreduce(counts, total)
    return total
