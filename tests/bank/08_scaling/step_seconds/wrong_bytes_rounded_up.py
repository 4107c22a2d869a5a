# verdict: wrong, diagnosis: whole_chunks
def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    compute = -(-global_batch_size // world_size) * seconds_per_image
    chunk = -(-4 * parameters // world_size)
    ring = 2 * (world_size - 1) * (alpha + chunk * beta)
    return compute + max(0, ring - hidden * compute)
