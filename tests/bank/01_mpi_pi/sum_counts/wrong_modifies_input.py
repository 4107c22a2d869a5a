# verdict: wrong, diagnosis: modifies_input
from mpi4py import MPI


def sum_counts(comm, counts):
    comm.Allreduce(MPI.IN_PLACE, counts)
    return counts
