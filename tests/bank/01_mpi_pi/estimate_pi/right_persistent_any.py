# verdict: passed
import numpy as np
from mpi4py import MPI


def add(comm, mine):
    p, r = comm.size, comm.rank
    total = mine
    out = np.array([mine], np.int64)
    box = np.zeros(1, np.int64)
    send = [comm.Ssend_init(out, dest=q, tag=3) for q in range(p) if q != r]
    got = comm.Recv_init(box, MPI.ANY_SOURCE, 3)
    for s in send:
        s.Start()
    for _ in range(p - 1):
        got.Start()
        got.Wait()
        total += int(box[0])
    for s in send:
        while not s.Test():
            pass
    return total


def estimate_pi(comm, n, draw):
    start, stop = n * comm.rank // comm.size, n * (comm.rank + 1) // comm.size
    x, y = draw(stop - start)
    inside = int(np.count_nonzero(x * x + y * y < 0.25))
    return 4 * add(comm, inside) / n
