# verdict: wrong, diagnosis: unscaled_warmup
def learning_rate(step, base_rate, world_size, warmup_steps):
    if step >= warmup_steps:
        return base_rate
    return base_rate / world_size * (1 + (world_size - 1) * step / warmup_steps)
