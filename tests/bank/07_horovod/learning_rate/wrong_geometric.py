# verdict: wrong, diagnosis: geometric
def learning_rate(step, base_rate, world_size, warmup_steps):
    if step >= warmup_steps:
        return base_rate * world_size
    return base_rate * world_size ** (step / warmup_steps)
