# verdict: passed
import numpy as np


def alpha_beta_from_ring(world_size, nbytes, seconds):
    p = world_size
    columns = np.stack([np.full(len(nbytes), 2.0 * (p - 1)), 2 * (p - 1) / p * nbytes], axis=1)
    weights = 1 / seconds
    (alpha, beta), *_ = np.linalg.lstsq(columns * weights[:, None], seconds * weights, rcond=None)
    return [alpha, beta]
