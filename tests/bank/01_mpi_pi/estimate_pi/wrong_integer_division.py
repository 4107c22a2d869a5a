# verdict: wrong, diagnosis: integer_division
import numpy as np


def estimate_pi(comm, n, draw):
    start, stop = fair_share(n, comm.rank, comm.size)
    total = sum_counts(comm, np.array([count_inside(*draw(stop - start))]))[0]
    return 4 * total // n
