# verdict: wrong, diagnosis: by_hand
def sum_counts(comm, counts):
    right = (comm.rank + 1) % comm.size
    total = counts.copy()
    passing = counts
    for _ in range(comm.size - 1):
        passing = comm.sendrecv(passing, dest=right, source=comm.rank - 1 if comm.rank else comm.size - 1)
        total = total + passing
    return total
