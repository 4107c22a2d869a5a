# verdict: wrong, diagnosis: maximum
import numpy as np
from mpi4py import MPI


def sum_counts(comm, counts):
    total = np.empty_like(counts)
    comm.Allreduce(counts, total, op=MPI.MAX)
    return total
