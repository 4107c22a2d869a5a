# verdict: wrong, diagnosis: forgets_4
import numpy as np


def estimate_pi(comm, n, draw):
    start, stop = fair_share(n, comm.rank, comm.size)
    x, y = draw(stop - start)
    total = sum_counts(comm, np.array([count_inside(x, y)]))
    return total[0] / n
