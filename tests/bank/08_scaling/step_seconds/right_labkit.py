# verdict: passed
import numpy as np

from labkit import scaling


def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    p, g, s, n, a, b, h = world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden
    c = -(-g // p) * s
    return np.float64(max(c, c - h * c + scaling.ring_all_reduce_time(p, 4 * n, a, b)))
