# verdict: passed
import numpy as np
from mpi4py import MPI


def add(comm, mine):
    total = mine
    req = [comm.Isend(np.array([mine], np.int64), q) for q in range(comm.size) if q != comm.rank]
    for _ in range(comm.size - 1):
        message = comm.Mprobe()
        box = np.zeros(1, np.int64)
        message.Recv(box)
        total += int(box[0])
    MPI.Request.Waitall(req)
    return total


def estimate_pi(comm, n, draw):
    start, stop = n * comm.rank // comm.size, n * (comm.rank + 1) // comm.size
    x, y = draw(stop - start)
    inside = int(np.count_nonzero(x * x + y * y < 0.25))
    return 4 * add(comm, inside) / n
