# verdict: wrong, diagnosis: geometric
def learning_rate(step, base_rate, world_size, warmup_steps):
    if step >= warmup_steps:
        return base_rate * world_size
    factor = world_size ** (1 / warmup_steps)
    rate = base_rate
    for _ in range(step):
        rate *= factor
    return rate
