# verdict: wrong, diagnosis: drops_remainder
def estimate_pi(comm, n, draw):
    mine = n // comm.size
    inside = comm.allreduce(count_inside(*draw(mine)))
    drawn = comm.allreduce(mine)
    return 4 * inside / max(drawn, 1)
