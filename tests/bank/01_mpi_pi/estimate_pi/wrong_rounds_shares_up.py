# verdict: wrong, diagnosis: draws_too_many
import math


def estimate_pi(comm, n, draw):
    share = math.ceil(n / comm.size)
    inside = comm.allreduce(count_inside(*draw(share)))
    return 4 * inside / (share * comm.size)
