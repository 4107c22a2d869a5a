# verdict: wrong, diagnosis: last_rank_takes_rest
def estimate_pi(comm, n, draw):
    mine = n // comm.size
    if comm.rank == comm.size - 1:
        mine += n % comm.size
    x, y = draw(mine)
    return 4 * comm.allreduce(int((x * x + y * y < 0.25).sum())) / n
