# verdict: wrong, diagnosis: every_rank_draws_all
def estimate_pi(comm, n, draw):
    x, y = draw(n)
    own = 4 * count_inside(x, y) / n
    return comm.allreduce(own) / comm.size
