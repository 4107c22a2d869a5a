# verdict: wrong, diagnosis: drops_remainder
import numpy as np


def estimate_pi(comm, n, draw):
    x, y = draw(n // comm.size)
    total = sum_counts(comm, np.array([count_inside(x, y)]))
    return 4 * total[0] / n
