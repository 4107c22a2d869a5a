# verdict: wrong, diagnosis: tree
import math


def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    p = world_size
    compute = math.ceil(global_batch_size / p) * seconds_per_image
    ring = 2 * math.ceil(math.log2(p)) * (alpha + 4 * parameters * beta)
    return compute + max(0.0, ring - hidden * compute)
