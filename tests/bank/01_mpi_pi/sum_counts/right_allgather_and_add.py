# verdict: passed
import numpy as np


def sum_counts(comm, counts):
    everybody = np.zeros((comm.Get_size(),) + counts.shape, counts.dtype)
    comm.Allgather(counts, everybody)
    return everybody.sum(axis=0, dtype=counts.dtype)
