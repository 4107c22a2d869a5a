# verdict: passed
# differs: Everybody is everybody's neighbour in a communicator of its own, and the sum is taken by each rank for itself: more bytes, the same number.
import numpy as np
from mpi4py import MPI


def add(comm, mine):
    others = [q for q in range(comm.size) if q != comm.rank]
    everybody = comm.Create_dist_graph_adjacent(others, others)
    return mine + sum(everybody.neighbor_allgather(mine))


def estimate_pi(comm, n, draw):
    start, stop = n * comm.rank // comm.size, n * (comm.rank + 1) // comm.size
    x, y = draw(stop - start)
    inside = int(np.count_nonzero(x * x + y * y < 0.25))
    return 4 * add(comm, inside) / n
