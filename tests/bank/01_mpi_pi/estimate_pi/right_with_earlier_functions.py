# verdict: passed
# differs: Three functions of this page do all the work: a share, a count, a sum, and one division at the end.
import numpy as np


def estimate_pi(comm, n, draw):
    start, stop = fair_share(n, comm.rank, comm.size)
    x, y = draw(stop - start)
    inside = np.array([count_inside(x, y)])
    return 4 * sum_counts(comm, inside)[0] / n
