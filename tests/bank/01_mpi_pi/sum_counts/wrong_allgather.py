# verdict: wrong, diagnosis: gathered
def sum_counts(comm, counts):
    return comm.allgather(counts)
