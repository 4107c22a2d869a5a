# verdict: wrong, diagnosis: ignores_comm
from mpi4py import MPI


def estimate_pi(comm, n, draw):
    mine = n // comm.size + (comm.rank < n % comm.size)
    x, y = draw(mine)
    return 4 * MPI.COMM_WORLD.allreduce(int((x**2 + y**2 < 0.25).sum())) / n
