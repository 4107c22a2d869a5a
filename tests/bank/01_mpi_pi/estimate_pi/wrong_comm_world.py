# verdict: wrong, diagnosis: ignores_comm
import numpy as np
from mpi4py import MPI


def estimate_pi(comm, n, draw):
    world = MPI.COMM_WORLD
    mine = n // world.size + (world.rank < n % world.size)
    x, y = draw(mine)
    inside = np.array([np.count_nonzero(x * x + y * y < 0.25)])
    total = np.empty_like(inside)
    world.Allreduce(inside, total)
    return 4 * total[0] / n
