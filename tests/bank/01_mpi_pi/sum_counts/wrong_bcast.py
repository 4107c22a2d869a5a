# verdict: wrong, diagnosis: rank_0_counts
def sum_counts(comm, counts):
    total = counts.copy()
    comm.Bcast(total, root=0)
    return total
