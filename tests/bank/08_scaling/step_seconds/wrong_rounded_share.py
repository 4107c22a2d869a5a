# verdict: wrong, diagnosis: floor_share


def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    p, g, s, n, a, b, h = world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden
    c = round(g / p) * s
    ring = 2 * (p - 1) * (a + 4 * n / p * b)
    return c + max(0, ring - h * c)
