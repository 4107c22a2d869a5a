# verdict: passed
import numpy as np
from mpi4py import MPI


def sum_counts(comm, counts):
    p, flat = comm.size, counts.reshape(-1)
    shares = [len(flat) // p + (rank < len(flat) % p) for rank in range(p)]
    own = np.empty(shares[comm.rank], counts.dtype)
    comm.Ireduce_scatter(flat, own, shares).Wait()
    total = np.empty_like(flat)
    MPI.Request.Waitall([comm.Iallgatherv(own, [total, shares])])
    return total.reshape(counts.shape)
