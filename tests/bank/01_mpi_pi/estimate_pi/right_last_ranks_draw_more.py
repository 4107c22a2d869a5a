# verdict: passed
import numpy as np
from mpi4py import MPI

HALF = 0.5


def my_samples(n, rank, size):
    return n // size + (rank >= size - n % size)


def estimate_pi(comm, n, draw):
    x, y = draw(my_samples(n, comm.rank, comm.size))
    mine = np.zeros(1)
    mine[0] = np.sum(np.sqrt(x * x + y * y) <= HALF) / n
    everybody = np.zeros(1)
    comm.Allreduce(mine, everybody, op=MPI.SUM)
    return everybody * 4
