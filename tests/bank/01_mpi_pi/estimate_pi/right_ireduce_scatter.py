# verdict: passed
import numpy as np
from mpi4py import MPI


def add(comm, mine):
    p = comm.size
    got = np.zeros(1, np.int64)
    comm.Ireduce_scatter(np.full(p, mine, np.int64), got, [1] * p).Wait()
    return int(got[0])


def estimate_pi(comm, n, draw):
    start, stop = n * comm.rank // comm.size, n * (comm.rank + 1) // comm.size
    x, y = draw(stop - start)
    inside = int(np.count_nonzero(x * x + y * y < 0.25))
    return 4 * add(comm, inside) / n
