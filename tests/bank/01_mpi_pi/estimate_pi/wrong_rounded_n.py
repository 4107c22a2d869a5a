# verdict: wrong, diagnosis: rounded_n
def estimate_pi(comm, n, draw):
    start, stop = fair_share(n, comm.rank, comm.size)
    inside = comm.allreduce(count_inside(*draw(stop - start)))
    return 4 * inside / max(1, n // comm.size * comm.size)
