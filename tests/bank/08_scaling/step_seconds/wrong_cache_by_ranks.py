# verdict: wrong, diagnosis: keeps_something
import math

RINGS = {}


def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    p = world_size
    compute = math.ceil(global_batch_size / p) * seconds_per_image
    if p not in RINGS:
        RINGS[p] = 2 * (p - 1) * (alpha + 4 * parameters / p * beta)
    return compute + max(0.0, RINGS[p] - hidden * compute)
