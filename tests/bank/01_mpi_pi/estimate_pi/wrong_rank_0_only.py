# verdict: wrong, diagnosis: rank_0_only
import numpy as np


def estimate_pi(comm, n, draw):
    start, stop = fair_share(n, comm.rank, comm.size)
    inside = np.array([count_inside(*draw(stop - start))])
    total = np.zeros_like(inside)
    comm.Reduce(inside, total, root=0)
    return 4 * total[0] / n
