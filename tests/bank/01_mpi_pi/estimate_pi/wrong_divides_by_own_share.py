# verdict: wrong, diagnosis: sum_of_means
import numpy as np


def estimate_pi(comm, n, draw):
    start, stop = fair_share(n, comm.rank, comm.size)
    x, y = draw(stop - start)
    total = sum_counts(comm, np.array([count_inside(x, y)]))[0]
    return 4 * total / len(x)
