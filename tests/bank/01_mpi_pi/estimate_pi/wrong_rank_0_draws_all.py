# verdict: wrong, diagnosis: unfair
def estimate_pi(comm, n, draw):
    inside = None
    if comm.rank == 0:
        inside = count_inside(*draw(n))
    return 4 * comm.bcast(inside) / n
