# verdict: wrong, diagnosis: every_rank_draws_all
import numpy as np


def estimate_pi(comm, n, draw):
    x, y = draw(n)
    total = sum_counts(comm, np.array([count_inside(x, y)]))[0]
    return 4 * total / n
