# verdict: wrong, diagnosis: ignores_comm
import numpy as np
from mpi4py import MPI

comm = MPI.COMM_WORLD


def sum_counts(_, counts):
    total = np.empty_like(counts)
    comm.Allreduce(counts, total)
    return total
