# verdict: wrong, diagnosis: ignores_draw
import numpy as np


def estimate_pi(comm, n, draw):
    rng = np.random.default_rng([comm.rank, 7])
    start, stop = fair_share(n, comm.rank, comm.size)
    x, y = rng.uniform(-0.5, 0.5, (2, stop - start))
    return 4 * comm.allreduce(count_inside(x, y)) / n
