# verdict: hung, diagnosis: missing_rank
import numpy as np


def sum_counts(comm, counts):
    total = np.zeros_like(counts)
    if comm.rank == 0:
        comm.Allreduce(counts, total)
    return total
