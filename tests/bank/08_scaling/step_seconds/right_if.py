# verdict: passed
import numpy as np


def ring(p, nbytes, alpha, beta):
    return 2 * (p - 1) * alpha + 2 * (p - 1) / p * nbytes * beta


def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    shares = [len(part) for part in np.array_split(np.arange(global_batch_size), world_size)]
    compute = max(shares) * seconds_per_image
    if world_size == 1:
        return np.float64(compute)
    left = ring(world_size, 4 * parameters, alpha, beta) - hidden * compute
    return compute if left < 0 else compute + left
