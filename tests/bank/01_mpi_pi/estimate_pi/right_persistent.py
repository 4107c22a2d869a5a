# verdict: passed
import numpy as np
from mpi4py import MPI


def add(comm, mine):
    p, r = comm.size, comm.rank
    out = np.array([mine], np.int64)
    boxes = np.zeros((p, 1), np.int64)
    requests = [comm.Send_init(out, q) for q in range(p) if q != r] + [
        comm.Recv_init(boxes[q], source=q) for q in range(p) if q != r
    ]
    if requests:
        MPI.Prequest.Startall(requests)
    MPI.Request.Waitall(requests)
    for q in requests:
        q.Free()
    return int(boxes.sum()) + mine


def estimate_pi(comm, n, draw):
    start, stop = n * comm.rank // comm.size, n * (comm.rank + 1) // comm.size
    x, y = draw(stop - start)
    inside = int(np.count_nonzero(x * x + y * y < 0.25))
    return 4 * add(comm, inside) / n
