# verdict: passed
import numpy as np


def estimate_pi(comm, n, draw):
    size = n // comm.size + (1 if comm.rank < n % comm.size else 0)
    own = 0.0
    if size > 0:
        own = 4 * count_inside(*draw(size)) / size
    parts = comm.gather((own, size), root=0)
    pi = None
    if comm.rank == 0:
        pi = np.average([e for e, _ in parts], weights=[w for _, w in parts])
    return comm.bcast(pi, root=0)
