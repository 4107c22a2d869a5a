# verdict: wrong, diagnosis: mean_of_means
def estimate_pi(comm, n, draw):
    start, stop = fair_share(n, comm.rank, comm.size)
    x, y = draw(stop - start)
    own = 4 * count_inside(x, y) / (stop - start)
    return comm.allreduce(own) / comm.size
