# verdict: raised, diagnosis: Exception
def sum_counts(comm, counts):
    total = counts
    comm.Allreduce(counts, total)
    return total
