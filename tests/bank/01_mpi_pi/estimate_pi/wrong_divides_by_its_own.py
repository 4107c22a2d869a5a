# verdict: raised, diagnosis: ZeroDivisionError
from mpi4py import MPI


def estimate_pi(comm, n, draw):
    start, stop = fair_share(n, comm.rank, comm.size)
    x, y = draw(stop - start)
    share = count_inside(x, y) / (stop - start)
    return 4 * comm.allreduce(share * (stop - start), op=MPI.SUM) / n
