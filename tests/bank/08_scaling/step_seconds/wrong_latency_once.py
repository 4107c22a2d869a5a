# verdict: wrong, diagnosis: latency_once
import math


def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    p = world_size
    compute = math.ceil(global_batch_size / p) * seconds_per_image
    ring = alpha + 2 * (p - 1) * 4 * parameters / p * beta if p > 1 else 0.0
    return compute + max(0.0, ring - hidden * compute)
