# verdict: wrong, diagnosis: pickled
def sum_counts(comm, counts):
    return comm.allreduce(counts)
