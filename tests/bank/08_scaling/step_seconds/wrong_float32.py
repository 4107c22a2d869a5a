# verdict: wrong, diagnosis: float32
import math

import numpy as np


def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    p, g, s, n, a, b, h = world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden
    s, a, b, h = map(np.float32, (s, a, b, h))
    c = math.ceil(g / p) * s
    ring = 2 * (p - 1) * (a + 4 * n / p * b)
    return float(c + max(0, ring - h * c))
