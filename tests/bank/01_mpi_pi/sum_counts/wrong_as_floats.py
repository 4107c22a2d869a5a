# verdict: wrong, diagnosis: wrong_dtype
import numpy as np
from mpi4py import MPI


def sum_counts(comm, counts):
    send = np.array(counts, dtype="d")
    receive = np.zeros(send.size)
    comm.Barrier()
    comm.Allreduce([send, MPI.DOUBLE], [receive, MPI.DOUBLE], op=MPI.SUM)
    return receive.reshape(counts.shape)
