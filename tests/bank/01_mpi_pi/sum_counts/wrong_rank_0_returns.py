# verdict: wrong, diagnosis: rank_0_only
def sum_counts(comm, counts):
    total = comm.reduce(counts, root=0)
    if comm.Get_rank() == 0:
        return total
