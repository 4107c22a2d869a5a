# verdict: wrong, diagnosis: rank_0_only
def estimate_pi(comm, n, draw):
    start, stop = fair_share(n, comm.rank, comm.size)
    total = comm.reduce(count_inside(*draw(stop - start)), root=0)
    if comm.rank == 0:
        return 4 * total / n
