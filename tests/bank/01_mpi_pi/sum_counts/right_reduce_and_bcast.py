# verdict: passed
# differs: The sum is made on rank 0 and sent to everybody: the two halves of which an `Allreduce` can be made.
import numpy as np
from mpi4py import MPI


def sum_counts(comm, counts):
    total = np.zeros(counts.shape, dtype=counts.dtype)
    comm.Reduce([counts, MPI._typedict[counts.dtype.char]], total, root=0)
    comm.Bcast(total, root=0)
    return total
