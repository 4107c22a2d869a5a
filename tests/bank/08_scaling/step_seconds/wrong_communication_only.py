# verdict: wrong, diagnosis: communication_only
import math


def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    p = world_size
    compute = math.ceil(global_batch_size / p) * seconds_per_image
    ring = 2 * (p - 1) * (alpha + 4 * parameters / p * beta)
    return ring
