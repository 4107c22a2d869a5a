# verdict: passed
import numpy as np
from mpi4py import MPI


def sum_counts(comm, counts):
    p = comm.size
    kind = MPI._typedict[counts.dtype.char]
    out, got = np.concatenate([counts.reshape(1, -1)] * p), np.empty((p, counts.size), counts.dtype)
    blocks = [counts.size] * p, [counts.nbytes * rank for rank in range(p)], [kind] * p
    comm.Alltoallw([out, *blocks], [got, *blocks])
    return got.sum(axis=0, dtype=counts.dtype).reshape(counts.shape)
