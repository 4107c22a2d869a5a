# verdict: hung, diagnosis: missing_rank
import numpy as np


def estimate_pi(comm, n, draw):
    start, stop = fair_share(n, comm.rank, comm.size)
    inside = np.array([count_inside(*draw(stop - start))])
    if comm.rank == 0:
        return 4 * sum_counts(comm, inside)[0] / n
    return 4 * inside[0] / n
