# verdict: wrong, diagnosis: sum_of_means
import numpy as np


def estimate_pi(comm, n, draw):
    start, stop = fair_share(n, comm.rank, comm.size)
    total = sum_counts(comm, np.array([count_inside(*draw(stop - start))]))
    return 4 * comm.allreduce(total[0]) / n
