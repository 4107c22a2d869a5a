# verdict: passed
def estimate_pi(comm, n, draw):
    inside = 0
    for _ in range(comm.Get_rank(), n, comm.Get_size()):
        x, y = draw(1)
        if x[0] ** 2 + y[0] ** 2 < 0.25:
            inside += 1
    return 4.0 * comm.allreduce(inside) / n
