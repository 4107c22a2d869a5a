# verdict: wrong, diagnosis: starts_elsewhere


def learning_rate(step, base_rate, world_size, warmup_steps):
    if step >= warmup_steps:
        return base_rate * world_size
    return base_rate / world_size * (1 + step * (world_size - 1) / warmup_steps)
