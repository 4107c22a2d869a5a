# verdict: wrong, diagnosis: pickled
def sum_counts(comm, counts):
    parts = comm.gather(counts, root=0)
    total = sum(parts) if comm.rank == 0 else None
    return comm.bcast(total, root=0)
