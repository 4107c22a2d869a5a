# verdict: wrong, diagnosis: local_over_n
def estimate_pi(comm, n, draw):
    start, stop = fair_share(n, comm.rank, comm.size)
    x, y = draw(stop - start)
    return 4 * count_inside(x, y) / n
