# verdict: passed
import numpy as np
from mpi4py import MPI


def add(comm, mine):
    box = np.array([mine], np.int64)
    total = mine
    for _ in range(comm.size - 1):
        comm.Sendrecv_replace(box, (comm.rank + 1) % comm.size, source=(comm.rank - 1) % comm.size)
        total += int(box[0])
    return total


def estimate_pi(comm, n, draw):
    start, stop = n * comm.rank // comm.size, n * (comm.rank + 1) // comm.size
    x, y = draw(stop - start)
    inside = int(np.count_nonzero(x * x + y * y < 0.25))
    return 4 * add(comm, inside) / n
