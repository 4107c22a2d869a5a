# verdict: passed
from mpi4py import MPI


def sum_counts(comm, counts):
    total = counts.copy()
    comm.Allreduce(MPI.IN_PLACE, total, op=MPI.SUM)
    return total
