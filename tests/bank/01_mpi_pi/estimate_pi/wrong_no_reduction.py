# verdict: wrong, diagnosis: no_reduction
def estimate_pi(comm, n, draw):
    start, stop = fair_share(n, comm.rank, comm.size)
    x, y = draw(stop - start)
    return 4 * count_inside(x, y) / max(1, len(x))
