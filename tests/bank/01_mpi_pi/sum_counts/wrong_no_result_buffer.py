# verdict: raised, diagnosis: TypeError
def sum_counts(comm, counts):
    return comm.Allreduce(counts)
