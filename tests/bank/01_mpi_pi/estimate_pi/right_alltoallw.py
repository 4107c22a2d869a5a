# verdict: passed
import numpy as np
from mpi4py import MPI


def add(comm, mine):
    p = comm.size
    out = np.full(p, mine, np.int64)
    got = np.zeros(p, np.int64)
    kinds = [MPI.INT64_T] * p
    displs = [8 * i for i in range(p)]
    comm.Alltoallw([out, [1] * p, displs, kinds], [got, [1] * p, displs, kinds])
    return int(got.sum())


def estimate_pi(comm, n, draw):
    start, stop = n * comm.rank // comm.size, n * (comm.rank + 1) // comm.size
    x, y = draw(stop - start)
    inside = int(np.count_nonzero(x * x + y * y < 0.25))
    return 4 * add(comm, inside) / n
