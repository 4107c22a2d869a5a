# verdict: passed


def step_seconds(world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden):
    p, g, s, n, a, b, h = world_size, global_batch_size, seconds_per_image, parameters, alpha, beta, hidden
    c = (g + p - 1) // p * s
    comm = sum(a + 4 * n * b / p for _ in range(2 * p - 2))
    return c + comm - min(comm, h * c)
