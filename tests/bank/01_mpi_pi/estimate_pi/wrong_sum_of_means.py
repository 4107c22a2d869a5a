# verdict: wrong, diagnosis: sum_of_means
def estimate_pi(comm, n, draw):
    start, stop = fair_share(n, comm.rank, comm.size)
    own = 4 * count_inside(*draw(stop - start)) / max(1, stop - start)
    return comm.allreduce(own)
