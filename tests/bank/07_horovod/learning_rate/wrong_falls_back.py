# verdict: wrong, diagnosis: falls_back
def learning_rate(step, base_rate, world_size, warmup_steps):
    if step >= warmup_steps:
        return base_rate
    return base_rate * (1 + (world_size - 1) * step / warmup_steps)
